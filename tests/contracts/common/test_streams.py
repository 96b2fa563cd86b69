"""Shared rules, "Answers": streamed answers."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from rag.providers.language_models import stoppable_stream
from tests.support.factories import World, ingest_text
from tests.support.http import Client
from tests.support.servers.provider_server import ProviderServer

QUESTION = "Where are the bicycles parked?"
REPLY = "Bicycles are parked in the yard [1]."
BODIES = {
    "/api/rag/query": {"query": QUESTION, "stream": True},
    "/api/rag/answer": {"query_text": QUESTION, "stream": True},
    "/api/chat": {"messages": [{"role": "user", "content": QUESTION}], "useRag": True, "stream": True},
}


@pytest.fixture
def member(api: Callable[..., Client], live_world: World, language_model: ProviderServer, settings: Any) -> Client:
    settings.RAG_CONFIDENCE_MEDIUM_THRESHOLD, settings.LLM_TIMEOUT = 0.1, 60.0
    ingest_text(
        live_world.source("library"), "/bikes", "Bicycles are parked in the yard. Tea is hot.", title="Bicycles"
    )
    language_model.may_continue = threading.Event()
    return api("member")


@pytest.mark.parametrize("path", BODIES)
def test_the_first_token_is_sent_before_the_last_is_generated(
    member: Client, language_model: ProviderServer, path: str
) -> None:
    """Pipeline contract, sub-contract 5: "Streaming supported"."""
    language_model.replies = [REPLY]
    assert language_model.may_continue
    events = member.events(path, BODIES[path])
    assert [next(events)[0] for _ in range(2)] == ["sources", "token"]
    assert not language_model.may_continue.is_set()  # the model has not sent the rest yet
    language_model.may_continue.set()
    rest = [name for name, _ in events]
    assert (set(rest[:-1]), rest[-1]) == ({"token"}, "done")


@pytest.mark.parametrize("path", BODIES)
def test_a_disconnected_client_stops_the_model(
    member: Client, language_model: ProviderServer, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """The connection to the model is closed, even while the model sends nothing."""
    # The server notices it when it sends that the stream still lives.
    monkeypatch.setattr(stoppable_stream, "KEEP_ALIVE_SECONDS", 0.1)
    language_model.replies = [REPLY]
    events = member.events(path, BODIES[path])
    assert [next(events)[0] for _ in range(2)] == ["sources", "token"]
    events.close()
    assert language_model.left.wait(8)


@pytest.mark.parametrize(
    ("reply", "warning"),
    [
        ("The emperor ordered 4711 carriages [1].", "NOT_GROUNDED"),
        ("On the roof, I believe.", "CONTEXT_IGNORED"),
        (f"{REPLY} Tea is hot [9].", "CITATIONS_DROPPED"),
    ],
)
def test_the_last_event_has_the_validated_answer(
    member: Client, language_model: ProviderServer, reply: str, warning: str
) -> None:
    """Sent tokens cannot be withdrawn: `done` has the final answer and why it differs."""
    language_model.may_continue, language_model.replies = None, [reply]
    *_, (name, body) = member.stream("/api/rag/query", BODIES["/api/rag/query"])
    is_given = warning == "CITATIONS_DROPPED"
    assert (name, body["warnings"]) == ("done", ["CONFIDENCE_UNKNOWN", warning] if is_given else [warning])
    assert body["answer"] != reply
    assert (body["confidence"] == 0) is not is_given


def test_an_account_has_a_limit_of_long_requests(
    api: Callable[..., Client], member: Client, live_world: World, settings: Any
) -> None:
    """Beyond it, 429 with Retry-After in the format of the contract; others are served."""
    settings.RAG_MAX_LONG_REQUESTS = 2
    other = api().with_headers(X_API_Key=live_world.key("editor").secret)
    v3, completion = {"error", "message", "details"}, {"model": "ragsite", "stream": True}
    refusals: list[tuple[str, Any, set[str]]] = [
        ("/api/rag/query", BODIES["/api/rag/query"], v3),
        ("/api/rag/answer", BODIES["/api/rag/answer"], v3 | {"status"}),
        ("/api/chat", BODIES["/api/chat"], v3),
        ("/v1/chat/completions", {**completion, "messages": BODIES["/api/chat"]["messages"]}, {"error"}),
        ("/agent/respond", {"query": QUESTION}, {"error"}),
    ]
    running = member.events("/api/chat", BODIES["/api/chat"])
    next(running)
    for path, body, keys in refusals:
        refused = member.post(path, body)
        assert (refused.status, set(refused.body), refused.headers["retry-after"]) == (429, keys, "2"), path
    events = other.events("/api/chat", BODIES["/api/chat"])
    assert next(events)[0] == "sources"
    events.close()
    running.close()
