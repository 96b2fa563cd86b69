"""Two questions in one, over HTTP: each is searched for (docs/decisions/0028-extractive-answers.md)."""

import re

import pytest

from tests.support.factories import World, ingest_text
from tests.support.http import Client

from .questions import ask

QUESTION = "How do I rent a kayak and repair it?"
RENTAL = "To rent a kayak, ask at the boathouse and leave your card."
REPAIR = "Glue the crack with epoxy and let it dry for a day."


@pytest.fixture
def manual(live_world: World) -> None:
    """A manual in which more sections are about renting a kayak than a query without reranking returns."""
    rentals = [f"## Renting a kayak, rule {number}\n\nYou rent a kayak of type {number}." for number in range(12)]
    text = "\n\n".join(
        ["# Kayaks", f"## How do I rent a kayak?\n\n{RENTAL}", *rentals, f"## How do I repair a kayak?\n\n{REPAIR}"]
    )
    ingest_text(live_world.source("staff"), "/kayaks.md", text)


@pytest.mark.usefixtures("manual")
def test_both_questions_are_answered(member: Client) -> None:
    body = ask(member, query=QUESTION).body
    assert RENTAL in body["answer"]
    assert REPAIR in body["answer"]
    assert len(body["documents"]) <= 10
    passages = re.split(r"^\[\d+\] ", body["prompt"], flags=re.MULTILINE)
    assert all(citation["quote"] in passages[citation["number"]] for citation in body["citationsUsed"])


@pytest.mark.usefixtures("manual")
def test_the_passages_of_both_are_ordered_by_relevance(member: Client) -> None:
    """Sub-contract 2, "Results ordered by relevance": those of the second question are among those of the first."""
    body = ask(member, query=QUESTION).body
    assert len(body["scores"]) == len(body["documents"])
    assert body["scores"] == sorted(body["scores"], reverse=True)


@pytest.mark.usefixtures("manual")
def test_a_chat_answers_both_questions(member: Client) -> None:
    messages = [{"role": "user", "content": QUESTION}]
    message = member.post("/api/chat", {"model": "llama2", "messages": messages, "useRag": True}).body["data"][
        "message"
    ]
    assert RENTAL in message
    assert REPAIR in message


@pytest.mark.usefixtures("manual")
def test_with_fewer_passages_than_both_need_it_is_one_question(member: Client) -> None:
    both, one = ask(member, query=QUESTION).body, ask(member, query=QUESTION, topK=1).body
    assert len(one["documents"]) == 1
    assert one["groundingScore"] < both["groundingScore"]
    assert len({citation["quote"] for citation in one["citationsUsed"]} & {RENTAL, REPAIR}) <= 1


@pytest.mark.usefixtures("manual")
def test_a_question_of_which_one_half_has_no_answer_is_answered_as_before(member: Client) -> None:
    body = ask(member, query="How do I rent a kayak and bake a marzipan cake?").body
    assert REPAIR not in body["answer"]
    assert "marzipan cake" in str(body["gaps"])
