"""Questions without a good answer are stored in every contract that answers questions."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from orgs.access.caller import Caller
from orgs.access.permissions import Visibility
from rag.errors import EmbeddingFailed
from rag.models import UnansweredQuestion
from rag.pipeline.retrieval.query.follow_up_questions import has_only_words_of_user
from rag.services.evaluation import record_unanswered
from rag.services.queries import agent, agent_tools, ask_replies, chat_completion_replies, permitted_queries
from rag.services.queries.source_selection import SourceSelection
from rag.types import AnswerOptions, Message, Question
from ragsite.postgres import identity
from tests.support.factories import World, ingest_text
from tests.support.http import Client

pytestmark = pytest.mark.django_db(transaction=True)
UNANSWERED, ANSWERED = "What do flamingos earn?", "Does the zebra sleep standing up?"
ZEBRAS = "# Zebras\n\nThe zebra sleeps standing up, and it weighs about 300 kilograms."
Api = Callable[..., Client]


def _chat(question: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": question}]}


def _call(question: str) -> dict[str, Any]:
    params = {"name": "ask", "arguments": {"question": question}}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


CONTRACTS: dict[str, Callable[[str], dict[str, Any]]] = {
    "/v1/chat/completions": lambda question: {"model": "ragsite", **_chat(question)},
    "/api/chat": lambda question: {**_chat(question), "useRag": True},
    "/agent/respond": lambda question: {"query": question},
    "/api/rag/answer": lambda question: {"query_text": question},
    "/functions/v1/rag-answer": lambda question: {"query_text": question},
    "/mcp": _call,
}


def stored() -> list[tuple[str, str]]:
    return list(UnansweredQuestion.objects.values_list("question", "reason").order_by("question"))


@pytest.mark.parametrize("path", CONTRACTS)
def test_a_declined_question_is_stored_and_an_answered_one_is_not(api: Api, live_world: World, path: str) -> None:
    ingest_text(live_world.source(), "zebras.md", ZEBRAS)
    for question in (ANSWERED, UNANSWERED):
        assert api("member").post(path, CONTRACTS[path](question)).status == 200
    assert stored() == [(UNANSWERED, "declined")]
    assert UnansweredQuestion.objects.get().user == live_world.users["member"]


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/agent/respond", "/mcp"])
def test_an_answer_with_low_confidence_is_stored(
    api: Api, live_world: World, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_unanswered, "LOW_CONFIDENCE", 1.1)
    ingest_text(live_world.source(), "zebras.md", ZEBRAS)
    assert api("member").post(path, CONTRACTS[path](ANSWERED)).status == 200
    assert stored() == [(ANSWERED, "low")]


@pytest.mark.parametrize("path", CONTRACTS)
def test_nothing_is_stored_without_histories(api: Api, live_world: World, path: str) -> None:
    ingest_text(live_world.source(), "zebras.md", ZEBRAS)
    live_world.home.query_history = "redacted"
    live_world.home.save()
    assert api("member").post(path, CONTRACTS[path](UNANSWERED)).status == 200
    assert stored() == []


@pytest.mark.parametrize(("path", "fields"), [("/v1/chat/completions", {}), ("/api/chat", {"useRag": True})])
def test_a_streamed_question_is_stored_too(api: Api, live_world: World, path: str, fields: dict[str, Any]) -> None:
    ingest_text(live_world.source(), "zebras.md", ZEBRAS)
    list(api("member").stream(path, {**CONTRACTS[path](UNANSWERED), **fields, "stream": True}))
    assert stored() == [(UNANSWERED, "declined")]


def test_a_question_about_a_selected_text_is_not_stored(world: World) -> None:
    ingest_text(world.source(), "zebras.md", ZEBRAS)
    selection = SourceSelection(Caller(world.users["member"]))
    agent.respond(Question(UNANSWERED, top_k=5), selection, "Flamingos are pink.")
    assert stored() == []


def test_a_follow_up_is_stored_as_it_was_searched(world: World) -> None:
    """It has the person's own words only; whoever sees it may query what the earlier questions searched as well."""
    animals = world.source("animals")
    ingest_text(animals, "zebras.md", ZEBRAS)
    personal = world.source("mine", visibility=Visibility.PERSONAL, owner=world.users["member"])
    ingest_text(personal, "plan.md", "# Hippopotamus\n\nThe hippopotamus is called Ilse.")
    first = ask(world, "What is the name of the hippopotamus?", "mine")
    ask(world, "And its wage?", "animals", str(first.conversation_id))
    row = UnansweredQuestion.objects.exclude(question="What is the name of the hippopotamus?").get()
    assert row.question.startswith("And its wage?")
    assert "hippopotamus" in row.question
    assert (row.source, set(row.searched_sources)) == (animals, {animals.pk, personal.pk})


def test_words_of_a_dialogue_that_the_client_keeps_are_not_stored(world: World) -> None:
    ingest_text(world.source(), "zebras.md", ZEBRAS)
    dialogue = [
        Message("user", "What do flamingos eat?"),
        Message("assistant", "Shrimps."),
        Message("user", "And wage?"),
    ]
    caller = Caller(world.users["member"])
    with identity.run_as(caller.database_identity):
        permitted_queries.run_to_completion(
            chat_completion_replies.answer(
                Question("And wage?", top_k=5, rerank=True),
                dialogue,
                SourceSelection(caller),
                AnswerOptions(max_prompt_tokens=2000),
            )
        )
    assert list(stored()) == [], "nobody knows what the question about flamingos searched"


@pytest.mark.parametrize("path", CONTRACTS)
def test_a_question_that_cannot_be_stored_breaks_no_answer(
    api: Api, live_world: World, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    ingest_text(live_world.source(), "zebras.md", ZEBRAS)
    monkeypatch.setattr(record_unanswered, "_DELETE_REPLACED", "SELECT 1 / (%s IS NULL AND %s = %s AND %s = %s)::int")
    assert api("member").post(path, CONTRACTS[path](UNANSWERED)).status == 200
    assert stored() == []


def test_a_failing_search_for_the_closest_breaks_no_reply(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    ingest_text(world.source(), "zebras.md", ZEBRAS)
    caller = Caller(world.users["member"])

    def fail(toolbox: agent_tools.Toolbox) -> None:
        raise EmbeddingFailed("The model does not answer.")

    monkeypatch.setattr(agent_tools.Toolbox, "find_closest", fail)
    with identity.run_as(caller.database_identity):
        reply = agent.respond(Question(UNANSWERED, top_k=5, min_score=0.99), SourceSelection(caller))
    assert not reply.is_grounded
    assert stored() == []


def test_words_of_replies_are_not_stored() -> None:
    dialogue = [Message("user", "Who feeds the zebra?"), Message("assistant", "Ilse does."), Message("user", "When?")]
    assert has_only_words_of_user("When feeds the zebra?", dialogue)
    assert has_only_words_of_user("When do they feed the zebras?", dialogue)
    assert not has_only_words_of_user("When does Ilse feed the zebra?", dialogue)


def ask(world: World, text: str, source: str, conversation_id: str = "") -> ask_replies.ConversationAnswer:
    caller = Caller(world.users["member"])
    selection = SourceSelection(caller, data_sources=[source])
    with identity.run_as(caller.database_identity):
        return permitted_queries.run_to_completion(
            ask_replies.ask(
                Question(text, top_k=5, rerank=True), selection, AnswerOptions(max_prompt_tokens=2000), conversation_id
            )
        )


def test_an_answer_with_confidence_needs_no_further_statement(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    ingest_text(world.source(), "zebras.md", ZEBRAS)
    selection = SourceSelection(Caller(world.users["member"]))
    agent.respond(Question(ANSWERED, top_k=5), selection)  # loads the models
    counts = []
    for store in (record_unanswered.store_if_unanswered, lambda *_, **__: None):
        monkeypatch.setattr(record_unanswered, "store_if_unanswered", store)
        with CaptureQueriesContext(connection) as statements:
            agent.respond(Question(ANSWERED, top_k=5), selection)
        counts.append(len(statements))
    assert counts[0] == counts[1]
    assert stored() == []
