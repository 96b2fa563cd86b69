"""Lost access ends the streams and the agent's runs that are in progress (shared rules, "Access")."""

import json
import threading
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

from accounts.models import User
from orgs.access.caller import Caller
from rag.errors import AccessEnded
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
    delete_the_document,
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
        delete_the_document,
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


def test_a_repeated_reply_ends_when_access_to_its_source_is_lost(
    live: AccessCase, language_model: ProviderServer, api: Callable[..., Client]
) -> None:
    """A language model is shown stored replies, and repeats them without a search."""
    language_model.replies = [TEXT, TEXT]
    client = api().with_headers(**headers(live))
    first = client.post("/api/chat", {"messages": MESSAGES, "useRag": True}).body["data"]["conversationId"]
    language_model.may_continue = threading.Event()
    repeat = {"messages": [{"role": "user", "content": "Repeat it."}], "conversationId": first, "stream": True}
    events = client.events("/api/chat", repeat)
    assert [next(events)[0] for _ in range(2)] == ["sources", "token"]
    remove_the_grant(live)
    language_model.may_continue.set()
    ((name, body),) = events
    assert (name, "Your access ended" in json.dumps(body)) == ("error", True)


def test_what_took_long_is_checked_again_before_the_result(live: AccessCase, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if the last check was a moment ago. A short answer is covered by the check that admitted the request."""
    time = SimpleNamespace(now=0.0)
    monkeypatch.setattr(access_rechecks, "CHECK_INTERVAL_SECONDS", 1.0)
    monkeypatch.setattr(access_rechecks, "time", SimpleNamespace(monotonic=lambda: time.now))

    def answer(*ends_of_parts: float) -> Generator[str, None, str]:
        for time.now in ends_of_parts:
            yield "part"
        deactivate_the_user(live)
        time.now += 0.5
        return "result"

    caller = Caller(live.user)
    assert list(access_rechecks.watch_access(answer(0.4), caller)) == ["part"]
    User.objects.filter(pk=live.user.pk).update(is_active=True)
    time.now = 0.0
    with pytest.raises(AccessEnded):
        list(access_rechecks.watch_access(answer(0.5, 1.0), caller))


@pytest.mark.parametrize("lose_access", [deactivate_the_user, revoke_the_key, remove_the_grant, delete_the_document])
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
