"""Rate limit headers of responses (retrieval contract, "Rate Limiting")."""

import time
from collections.abc import Callable

import pytest
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from rag.services.queries import permitted_queries
from tests.contracts.common.rate_limits.rate_limit_helpers import QUERY, limit_headers
from tests.support.factories import World
from tests.support.http import Client

Caller = Callable[..., Client]
pytestmark = pytest.mark.usefixtures("rate_limited")


def test_every_response_of_the_path_has_the_headers(
    caller: Caller, live_server: LiveServer, live_world: World, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    """Requests that were not counted show the whole limit."""
    client, anonymous = caller(), Client(live_server.url)
    assert limit_headers(client.send("PUT", "/api/rag/search", b"{}"))[1] == 59
    assert limit_headers(client.post("/api/rag/search", b"{"))[1] == 58
    monkeypatch.setattr(permitted_queries, "retrieve", lambda *_: 1 / 0)
    broken = client.post("/api/rag/search", {"query": "x"})
    assert (broken.status, limit_headers(broken)[1]) == (500, 57)
    unknown = anonymous.post("/api/rag/search", QUERY)
    assert (unknown.status, limit_headers(unknown)[:2]) == (401, (60, 60))
    unscoped = anonymous.with_headers(X_API_Key=live_world.key("member", "ingest").secret)
    forbidden = unscoped.post("/functions/v1/rag-search", QUERY)
    assert (forbidden.status, limit_headers(forbidden)[:2]) == (403, (60, 60))
    settings.RAG_MAX_BODY_BYTES = 10
    too_large = client.post("/api/rag/search", {"query": "x" * 100})
    assert (too_large.status, limit_headers(too_large)[:2]) == (413, (60, 60))
    assert limit_headers(client.post("/api/rag/search", QUERY))[1] == 56
    assert not [name for name in client.get("/api/rag/sources").headers if "ratelimit" in name]


@pytest.mark.parametrize(
    "path", ["/api/rag/search", "/api/rag/answer", "/functions/v1/rag-search", "/functions/v1/rag-answer"]
)
def test_every_response_of_the_retrieval_paths_has_the_headers(
    caller: Caller, live_server: LiveServer, monkeypatch: pytest.MonkeyPatch, settings: Settings, path: str
) -> None:
    """Shared rules: "`X-RateLimit-Limit/-Remaining/-Reset` on every response", errors included."""
    settings.RAG_REQUESTS_PER_MINUTE = settings.RAG_REQUESTS_PER_MINUTE | {"queries": 5}
    client, question = caller(), {"query_text": "x"}
    replies = [
        client.post(path, question),
        client.post(path, {"query_text": ""}),
        client.send("PUT", path, b"{}"),
        client.with_headers(Content_Type="text/plain").post(path, b"x"),
    ]
    with monkeypatch.context() as broken:
        broken.setattr(permitted_queries, "build_search_scopes", lambda *_: 1 / 0)
        replies.append(client.post(path, question))
    replies += [client.post(path, question), Client(live_server.url).post(path, question)]
    settings.RAG_MAX_BODY_BYTES = 10
    replies.append(client.post(path, {"query_text": "x" * 100}))
    assert [reply.status for reply in replies] == [200, 400, 405, 415, 500, 429, 401, 413]
    assert [limit_headers(reply)[:2] for reply in replies] == [(5, left) for left in (4, 3, 2, 1, 0, 0, 5, 5)]
    assert all(0 < limit_headers(reply)[2] - time.time() <= 60 for reply in replies)


def test_preflights_are_not_counted(caller: Caller) -> None:
    client = caller()
    preflight = client.with_headers(Origin="https://app.example", Access_Control_Request_Method="POST")
    assert limit_headers(client.post("/functions/v1/rag-search", QUERY))[1] == 59
    assert [preflight.send("OPTIONS", "/functions/v1/rag-search").status for _ in range(3)] == [200] * 3
    assert limit_headers(client.post("/functions/v1/rag-search", QUERY))[1] == 58
