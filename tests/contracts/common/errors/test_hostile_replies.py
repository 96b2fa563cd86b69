"""A language model whose output cannot be stored or sent as is: no contract responds with a 500."""

import json
import urllib.request
from collections.abc import Callable
from typing import Any

import pytest

from rag.models import ConversationMessage
from tests.support.factories import World, ingest_text
from tests.support.http import Client
from tests.support.servers.broken_http_server import BrokenHttpServer
from tests.support.servers.provider_server import ProviderServer

Api = Callable[..., Client]
HOSTILE = "Bicycles are\0 parked in\ud800 the yard. [1]"
QUESTION = "Where are the bicycles parked?"
BODIES: dict[str, dict[str, Any]] = {
    "/api/chat": {"messages": [{"role": "user", "content": QUESTION}]},
    "/api/rag/query": {"query": QUESTION},
    "/api/rag/answer": {"query_text": QUESTION},
    "/agent/respond": {"query": QUESTION},
}


@pytest.fixture
def member(api: Api, live_world: World, settings: Any) -> Client:
    settings.RAG_CONFIDENCE_HIGH_THRESHOLD = settings.RAG_CONFIDENCE_MEDIUM_THRESHOLD = 0.1
    ingest_text(live_world.source("library"), "/bikes", "Bicycles are parked in the yard.", title="Bicycles")
    return api("member")


def test_surrogates_and_nul_in_model_output(member: Client, language_model: ProviderServer) -> None:
    for path, body in BODIES.items():
        language_model.replies = [HOSTILE]
        reply = member.post(path, body)
        assert reply.status == 200, path
        assert "in? the yard" in str(reply.body), path
        if path.startswith("/agent"):
            continue
        language_model.replies = [HOSTILE]
        events = member.stream(path, {**body, "stream": True})
        assert events[-1][0] == "done", path
    stored = ConversationMessage.objects.filter(role="assistant").values_list("content", flat=True)
    assert set(stored) == {"Bicycles are parked in? the yard. [1]"}


@pytest.mark.parametrize(
    "verdict",
    [
        '{"groundable": true, "score": 1, "gaps": ["\\ud800", "\\u0000"]}',
        '{"groundable": true, "score": 1e999, "gaps": null}',
        '{"groundable": true, "score": 1' + "0" * 400 + "}",
        '{"a": ' + "[" * 50_000 + "}",
    ],
)
def test_a_judge_with_invalid_output(
    member: Client, language_model: ProviderServer, settings: Any, verdict: str
) -> None:
    """GROUNDING_FAILED is a 503, not a 500."""
    settings.RAG_GROUNDING = "model"
    language_model.replies = [verdict, "In the yard. [1]"]
    reply = member.post("/api/rag/query", {"query": QUESTION})
    assert reply.status == 200 or (reply.status, reply.body["error"]) == (503, "GROUNDING_FAILED")


def test_a_disconnected_client_stops_the_model(member: Client, settings: Any) -> None:
    """Otherwise each closed page would keep the model, a thread and a connection busy."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
    token = b'data: {"choices": [{"delta": {"content": "word "}}]}\n\n'
    with BrokenHttpServer().running() as upstream:
        settings.LLM_MODEL, settings.LLM_BASE_URL, settings.LLM_TIMEOUT = "test-model", upstream.address, 30.0
        upstream.without_end(head, token, every=0.01)
        body = json.dumps({**BODIES["/api/chat"], "stream": True}).encode()
        headers = {"Content-Type": "application/json", **member.headers}
        request = urllib.request.Request(member.address + "/api/chat", body, headers, method="POST")
        with urllib.request.urlopen(request, timeout=10) as response:
            assert b"word" in response.read(100)
        assert upstream.gone.wait(10)
    assert not ConversationMessage.objects.exists(), "an incomplete answer is not stored"
