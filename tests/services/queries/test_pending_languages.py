"""Until the sources have vectors of the multilingual model, a question that is not English is postponed, not denied."""

from pathlib import Path

import pytest
from django.core.management import call_command
from pytest_django import Settings

from orgs.access.caller import Caller
from rag.models import DataSource
from rag.services.operations import demo_data
from rag.services.queries import agent, chat_replies, permitted_queries
from rag.services.queries.source_selection import SourceSelection
from rag.services.reembedding import second_model
from rag.types import AnswerOptions, AnswerResult, Message, Question
from tests.support.factories import World, ingest_text

pytestmark = pytest.mark.django_db
WARNING = "LANGUAGE_PENDING"
NOTICE = "The parties may end the agreement in writing ninety days before the end of a quarter."
POSTPONED = "Die Dokumente werden gerade für Fragen in dieser Sprache vorbereitet."
GERMAN = "Wie lange im Voraus muss man den Vertrag kündigen?"


@pytest.fixture(autouse=True)
def one_pass(settings: Settings) -> None:
    """A pass of the second model ends early if its time is over, and a busy machine needs long to load the model."""
    settings.RAG_SWEEP_INTERVAL_SECONDS = 600


@pytest.fixture(params=["public", "personal"])
def source(world: World, request: pytest.FixtureRequest) -> DataSource:
    """A public source belongs to a scope by the rule of its organisation, a personal one is listed."""
    source = world.source("library", visibility=request.param, owner=world.users["member"])
    ingest_text(source, "notice", NOTICE, lang="en")
    return source


def ask(world: World, text: str) -> AnswerResult:
    question = Question(text, top_k=5, rerank=True)
    events = permitted_queries.ask(question, select(world), AnswerOptions(max_prompt_tokens=1000))
    return permitted_queries.run_to_completion(events)


def select(world: World) -> SourceSelection:
    return SourceSelection(Caller(world.users["member"]))


def test_a_question_is_postponed_until_the_vectors_are_there(world: World, source: DataSource) -> None:
    result = ask(world, GERMAN)
    assert result.answer.text.startswith(POSTPONED)
    assert (result.answer.citations, result.answer.confidence) == ((), 0)
    assert result.retrieval.warnings == (WARNING,)
    second_model.embed_other_languages([source.pk])
    result = ask(world, GERMAN)
    assert result.answer.text.startswith(NOTICE)
    assert result.retrieval.warnings == ()
    assert not ask(world, "Wer hat den Eiffelturm gebaut?").answer.text.startswith(POSTPONED)


def test_english_questions_wait_for_nothing(world: World, source: DataSource) -> None:
    assert ask(world, "How long before the end of a quarter may parties end the agreement?").retrieval.warnings == ()
    assert not ask(world, "Who built the Eiffel tower?").answer.text.startswith("The documents are being prepared")


def test_without_a_multilingual_model_nothing_is_promised(world: World, source: DataSource, settings: Settings) -> None:
    settings.RAG_MULTILINGUAL_MODEL = ""
    assert ask(world, GERMAN).retrieval.warnings == ()


def test_the_agent_and_chats_postpone_it_too(world: World, source: DataSource) -> None:
    question = Question(GERMAN, top_k=5, min_score=0.3, rerank=True)
    assert agent.respond(question, select(world)).text.startswith(POSTPONED)
    turn = chat_replies.ChatTurn([Message("user", GERMAN)], question=question)
    reply = permitted_queries.run_to_completion(chat_replies.chat(turn, select(world)))
    assert reply.text.startswith(POSTPONED)
    second_model.embed_other_languages([source.pk])
    assert agent.respond(question, select(world)).text.startswith(NOTICE)


def test_the_public_sources_of_the_demo_need_no_first_question(
    world: World, settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    requested: list[object] = []
    monkeypatch.setattr(second_model, "request_vectors", requested.extend)
    monkeypatch.setattr(demo_data, "DOCS", tmp_path)  # no pages, so that there is nothing to wait for
    settings.RAG_LOCAL = True
    call_command("demo", verbosity=0)
    handbooks = DataSource.objects.filter(slug="handbook", organization__slug__in=["acme", "globex"])
    assert sorted(map(str, requested)) == sorted(str(pk) for pk in handbooks.values_list("pk", flat=True))
    assert len(requested) == 2
