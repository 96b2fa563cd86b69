"""Lost access ends the streams and the agent's runs that are in progress (shared rules, "Access")."""

import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from rag.models import ConversationMessage
from rag.services.access import access_rechecks
from tests.orgs.credentials.access_cases import (
    MESSAGES,
    QUESTION,
    TEXT,
    AccessCase,
    change_the_password,
    deactivate_by_directory,
    deactivate_the_user,
    headers,
    remove_the_grant,
    revoke_the_key,
    sign_out_everywhere,
)
from tests.support.factories import World
from tests.support.http import Client
from tests.support.servers.provider_server import ProviderServer, tool_call


@pytest.fixture
def live(
    live_world: World, language_model: ProviderServer, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> AccessCase:
    """A committed case with a language model. Access is checked before every event instead of once a second."""
    settings.RAG_CONFIDENCE_MEDIUM_THRESHOLD, settings.LLM_TIMEOUT = 0.1, 30.0
    monkeypatch.setattr(access_rechecks, "CHECK_INTERVAL_SECONDS", 0.0)
    return AccessCase.create(live_world, "reader")


STREAMS = {
    "/api/rag/query": {"query": QUESTION, "stream": True},
    "/api/rag/answer": {"query_text": QUESTION, "stream": True},
    "/api/chat": {"messages": MESSAGES, "useRag": True, "stream": True},
}


@pytest.mark.parametrize("path", STREAMS)
@pytest.mark.parametrize(
    "lose_access",
    [
        deactivate_the_user,
        deactivate_by_directory,
        sign_out_everywhere,
        change_the_password,
        revoke_the_key,
        remove_the_grant,
    ],
)
def test_a_stream_ends_when_access_is_lost(
    live: AccessCase,
    language_model: ProviderServer,
    api: Callable[..., Client],
    path: str,
    lose_access: Callable[[AccessCase], None],
) -> None:
    """The last event is the contract's error, and no further token is sent."""
    language_model.may_continue, language_model.replies = threading.Event(), [TEXT]
    client = api().with_headers(**headers(live, lose_access))
    events = client.events(path, STREAMS[path])
    assert [next(events)[0] for _ in range(2)] == ["sources", "token"]
    lose_access(live)
    language_model.may_continue.set()
    ((name, body),) = events
    assert name == "error"
    assert "Your access ended" in json.dumps(body)
    assert not ConversationMessage.objects.exists()


@pytest.mark.parametrize("lose_access", [deactivate_the_user, revoke_the_key, remove_the_grant])
@pytest.mark.parametrize("calls", [1, 0], ids=["before a tool call", "before the answer"])
def test_the_agent_stops_before_its_next_step(
    live: AccessCase,
    language_model: ProviderServer,
    api: Callable[..., Client],
    eventually: Callable[..., object],
    lose_access: Callable[[AccessCase], None],
    calls: int,
) -> None:
    call = tool_call("QdrantRetrievalTool", {"query": "zebras", "top_k": 3, "min_score": 0.0})
    language_model.replies = [*[call] * calls, TEXT]
    language_model.stall.clear()
    client = api().with_headers(**headers(live, lose_access))
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(client.post, "/agent/respond", {"query": QUESTION})
        eventually(lambda: language_model.requests or future.done())
        lose_access(live)
        language_model.stall.set()
        reply = future.result(20)
    assert (reply.status, reply.body["error"]["type"]) == (403, "FORBIDDEN")
    assert "northern" not in str(reply.body)
    assert len(language_model.requests) == 1
