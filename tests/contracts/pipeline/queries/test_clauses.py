"""Questions that tell what happened, over HTTP: the clause that asks is answered (docs/decisions/0083-clauses.md)."""

from typing import Any

import pytest

from tests.support.factories import World, ingest_text
from tests.support.http import Client
from tests.support.servers.provider_server import ProviderServer

from .questions import ask

RESERVATION = "To reserve the sauna, write your name on the list at the reception."
SECTIONS = {
    "How do I reserve the sauna?": RESERVATION,
    "How do I cancel a sauna that I reserved?": "Cross out your name on the list, at least an hour before.",
    "Who may use the sauna?": "Guests from the age of sixteen may use it. A towel is at the reception.",
    "Where do guests who arrive late find a key?": "Guests who arrive late find a key in the box at the gate.",
    "How do I tell the neighbours about a party?": "Tell the neighbours about a party a week before, by a note.",
    "What do the error codes of the oven mean?": "E-11: the door is open. E-12: it is hot, so wait 27 minutes.",
    "When is the library open?": "The library is open from nine to five.",
}
STORY = "Forty trumpets and a tuba of our orchestra came by ship and the harbour has no crane"
QUESTION = f"{STORY}, how do I reserve the sauna?"


@pytest.fixture(autouse=True)
def manual(live_world: World) -> None:
    text = "\n\n".join(["# House", *(f"## {heading}\n\n{text}" for heading, text in SECTIONS.items())])
    ingest_text(live_world.source("staff"), "/house.md", text)


def test_the_clause_that_a_heading_asks_is_answered(member: Client) -> None:
    body = ask(member, query=QUESTION).body
    assert body["answer"].startswith(RESERVATION)
    assert 0 < body["confidence"] < 0.7
    assert QUESTION in body["prompt"]


def test_what_no_passage_mentions_is_named(member: Client) -> None:
    assert "tuba" in ask(member, query=QUESTION).body["answer"]


def test_a_statement_is_answered_if_no_clause_asks_more(member: Client) -> None:
    body = ask(member, query=f"{STORY}, we want to reserve the sauna, what can we do?").body
    assert body["answer"].startswith(RESERVATION)
    assert 0 < body["confidence"] < 0.7


@pytest.mark.parametrize(
    "question",
    [
        # No passage mentions the tuba that is asked for, so the party is no answer.
        f"{STORY}, we tell the neighbours about a party, who carries the tuba?",
        # The clause that a heading nearly asks has a name that no passage has.
        f"{STORY}, how do I reserve the Zermatt sauna?",
        # The passage has only other codes of the series, though it has the number.
        f"{STORY}, what does the error code E-27 of the oven mean?",
        # A passage has its words, but no heading asks it.
        f"{STORY}, is the list at the reception?",
        # A statement that is a heading, but is not what the whole question is about.
        "Trumpets, tubas and harps of forty musicians were late and found no key, the library is open, what can I do?",
    ],
)
def test_a_question_without_such_a_clause_is_declined(member: Client, question: str) -> None:
    body = ask(member, query=question).body
    assert (body["isGroundable"], body["confidence"]) == (False, 0)


def test_a_clause_that_finds_nothing_is_skipped(member: Client) -> None:
    """A search by words alone finds no passage for a clause without their words."""
    question = "Trumpets and tubas tell the neighbours about a party at the sauna, how are harps carried downstairs?"
    body = ask(member, query=question, mode="lexical").body
    assert (body["isGroundable"], body["confidence"]) == (False, 0)


def test_a_question_that_its_passages_answer_is_searched_for_once(member: Client) -> None:
    """Its probability is that of the whole question."""
    body = ask(member, query="If I come by train, how do I reserve the sauna?").body
    assert body["answer"].startswith(RESERVATION)
    assert body["confidence"] > 0.5


def test_a_question_that_the_language_model_declines_stays_declined(
    member: Client, language_model: ProviderServer, settings: Any
) -> None:
    settings.RAG_GROUNDING = "model"
    language_model.replies = ['{"groundable": false, "score": 0.1, "gaps": ["the tuba"]}']
    assert ask(member, query=QUESTION).body["isGroundable"] is False
