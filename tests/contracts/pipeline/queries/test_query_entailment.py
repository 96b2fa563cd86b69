"""POST /api/rag/query with a language model, whose answers an entailment model validates."""

import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from tests.support.factories import World, ingest_text
from tests.support.http import Client
from tests.support.servers.provider_server import ProviderServer

KEYS = "Guests give keys to the porter."
REVERSED = "The porter gives keys to guests"
QUESTION = "To whom do guests give keys?"


@pytest.fixture
def entailment_model(settings: Any) -> Iterator[ProviderServer]:
    """A configured entailment model, which does not believe that the porter gives keys."""
    with ProviderServer().running() as server:
        server.probabilities = {f"{REVERSED}.": 0.02}
        settings.RAG_ENTAILMENT_MODEL = "test-nli"
        settings.RAG_ENTAILMENT_BASE_URL = server.base_url.replace("v1", "tei")
        yield server


@pytest.fixture
def guest(member: Client, live_world: World) -> Client:
    ingest_text(live_world.source("hotel"), "/keys", KEYS, title="Keys")
    return member


def ask(client: Client, **fields: Any) -> Any:
    return client.post("/api/rag/query", {"query": QUESTION, "dataSources": ["hotel"], **fields})


def test_without_a_model_a_reversed_relation_is_accepted(guest: Client, language_model: ProviderServer) -> None:
    language_model.replies = [f"{REVERSED} [1]."]
    body = ask(guest).body
    assert (body["answer"], body["warnings"]) == (f"{REVERSED} [1].", ["CONFIDENCE_UNKNOWN"])


def test_a_reversed_relation_is_declined(
    guest: Client, language_model: ProviderServer, entailment_model: ProviderServer
) -> None:
    language_model.replies = [f"{REVERSED} [1]."] * 2
    body = ask(guest).body
    assert (body["warnings"], body["confidence"], body["citationsUsed"]) == (["NOT_GROUNDED"], 0, [])
    assert REVERSED not in body["answer"]
    (request,) = entailment_model.requests
    ((premise, hypothesis),) = request["inputs"]
    assert KEYS in premise
    assert hypothesis == f"{REVERSED}."
    reply = ask(guest, strictMode=True)
    assert (reply.status, reply.body["error"]) == (422, "NOT_GROUNDED")


def test_only_the_last_sentence_is_lost(
    guest: Client, language_model: ProviderServer, entailment_model: ProviderServer
) -> None:
    language_model.replies = [f"Guests do give keys to the porter [1]. {REVERSED}."]
    body = ask(guest).body
    assert (body["answer"], body["warnings"]) == (
        "Guests do give keys to the porter [1].",
        ["CONFIDENCE_UNKNOWN"],
    )
    assert body["unsupportedSentences"] == [f"{REVERSED}."]
    assert len(entailment_model.requests) == 1, "the rest keeps its scores"
    assert body["confidence"] == pytest.approx(body["groundingScore"] * 0.9)


def test_quoted_answers_are_not_sent(
    guest: Client, language_model: ProviderServer, entailment_model: ProviderServer
) -> None:
    assert KEYS.removesuffix(".") in ask(guest, model="extractive").body["answer"]
    assert entailment_model.requests == []


@pytest.mark.parametrize("strict", [False, True])
def test_a_model_that_fails_is_a_warning(
    guest: Client, language_model: ProviderServer, entailment_model: ProviderServer, *, strict: bool
) -> None:
    """Words and numbers still decide, also in strict mode. The log has none of the texts."""
    language_model.replies = [f"{REVERSED} [1]."]
    entailment_model.fail(500)
    with structlog.testing.capture_logs() as logs:
        reply = ask(guest, strictMode=strict)
    assert (reply.status, reply.body["answer"]) == (200, f"{REVERSED} [1].")
    assert reply.body["warnings"] == ["ENTAILMENT_FAILED", "CONFIDENCE_UNKNOWN"]
    (line,) = [line for line in logs if line["event"] == "entailment_failed"]
    assert line["reason"] == "test-nli refused the request (500)."
    assert "porter" not in str(line)


def test_numbers_are_checked_although_the_model_fails(
    guest: Client, language_model: ProviderServer, entailment_model: ProviderServer
) -> None:
    language_model.replies = [f"In 1987 {REVERSED.lower()}. Guests give keys to the porter [1]."]
    entailment_model.fail(200, body=b"{}")
    body = ask(guest).body
    assert body["warnings"] == ["ENTAILMENT_FAILED", "NOT_GROUNDED"]
    assert "1987" not in body["answer"]


def test_a_stream_ends_with_the_warning(
    guest: Client, language_model: ProviderServer, entailment_model: ProviderServer
) -> None:
    language_model.replies = [f"{REVERSED} [1]."]
    entailment_model.fail(429)
    name, result = guest.stream("/api/rag/query", {"query": QUESTION, "dataSources": ["hotel"], "stream": True})[-1]
    assert (name, result["warnings"]) == ("done", ["ENTAILMENT_FAILED", "CONFIDENCE_UNKNOWN"])


def test_a_stream_is_not_silent_while_the_model_is_asked(
    guest: Client, language_model: ProviderServer, entailment_model: ProviderServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    language_model.replies = ["Guests do give keys to the porter [1]."]
    is_asked, may_answer, answer = threading.Event(), threading.Event(), entailment_model.answer

    def answer_late(path: str, body: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
        is_asked.set()
        may_answer.wait(60)
        return answer(path, body)

    monkeypatch.setattr(entailment_model, "answer", answer_late)
    lines = []
    for line in guest.event_lines("/api/rag/query", {"query": QUESTION, "dataSources": ["hotel"], "stream": True}):
        lines.append(line)
        if line == ": waiting" and is_asked.is_set():
            may_answer.set()
    assert may_answer.is_set(), "a comment was sent while the model was asked"
    result = json.loads([line for line in lines if line.startswith("data: ")][-1].removeprefix("data: "))
    assert result["warnings"] == ["CONFIDENCE_UNKNOWN"]
