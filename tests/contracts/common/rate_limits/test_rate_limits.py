"""Rate limits (docs/contracts/limits.md): exact across all processes. Requests are served if Redis is down."""

import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from django.db import connection
from django_ratelimit.core import _get_window
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from rag.contracts.common import rate_limits
from ragsite.run import commands
from tests.contracts.common.rate_limits.rate_limit_helpers import QUERY, create_member, limit_headers, steady_id
from tests.support.factories import World
from tests.support.http import Client

Caller = Callable[..., Client]
pytestmark = pytest.mark.usefixtures("rate_limited")


def test_the_sixtieth_request_is_served_and_the_next_is_not(caller: Caller) -> None:
    """Retrieval, "Rate Limiting": 60 a minute per user, 429 with X-RateLimit-*; v3, pipeline and retrieval share it."""
    client = caller()
    paths = ["/api/rag/search", "/api/rag/retrieve", "/functions/v1/rag-search"] * 20
    replies = [client.post(path, QUERY) for path in paths]
    assert {reply.status for reply in replies} == {400}
    assert [limit_headers(reply)[:2] for reply in replies] == [(60, 59 - number) for number in range(60)]
    assert {0 < limit_headers(reply)[2] - time.time() <= 60 for reply in replies} == {True}
    for path, error in (
        ("/api/rag/search", "Too many requests"),
        ("/api/rag/retrieve", "RATE_LIMITED"),
        ("/functions/v1/rag-search", "Too many requests"),
    ):
        refused = client.post(path, QUERY)
        assert (refused.status, refused.body["error"]) == (429, error)
        assert limit_headers(refused)[:2] == (60, 0)
        assert 1 <= int(refused.headers["retry-after"]) <= 60
    assert client.get("/api/rag/sources").status == 200
    assert caller().post("/api/rag/search", QUERY).status == 400


@pytest.fixture
def gunicorn(live_world: World, tmp_path: Path, eventually: Callable[..., object]) -> Iterator[str]:
    """The production web server with two worker processes, on the test database."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "tests.support.processes.worker_settings",
        "TEST_DATABASE": str(connection.settings_dict["NAME"]),
        "RAG_RATE_LIMITS": "on",
    }
    with open(tmp_path / "web.log", "wb") as log:
        server = subprocess.Popen(commands.web(host="127.0.0.1", port=port), env=environment, stdout=log, stderr=log)
    address = f"http://127.0.0.1:{port}"

    def is_ready() -> bool:
        try:
            return Client(address).get("/healthz").status == 200
        except OSError:
            return False

    try:
        eventually(is_ready)
        yield address
    finally:
        server.terminate()
        server.wait(20)


def test_several_processes_share_one_exact_counter(
    caller: Caller, gunicorn: str, live_world: World, live_server: LiveServer
) -> None:
    """200 requests at once through three processes: exactly 60 are served."""
    user = create_member(live_world, steady_id(seconds=45))
    clients = [caller(address=address, user=user) for address in (gunicorn, live_server.url, gunicorn, gunicorn)]
    with ThreadPoolExecutor(32) as pool:
        replies = list(pool.map(lambda number: clients[number % 4].post("/api/rag/search", QUERY), range(200)))
    served = [reply for reply in replies if reply.status == 400]
    assert [reply.status for reply in replies if reply not in served] == [429] * 140
    assert sorted(limit_headers(reply)[1] for reply in served) == list(range(60))


def test_ingestion_has_its_own_limit(caller: Caller) -> None:
    """Shared rules: "ingestion 600/min per user", for both contracts on the path."""
    client = caller()
    assert limit_headers(client.post("/api/rag/ingest", {}))[:2] == (600, 599)
    assert limit_headers(client.post("/api/rag/ingest", {"documents": []}))[:2] == (600, 598)
    assert limit_headers(client.post("/api/rag/search", QUERY))[:2] == (60, 59)


def test_the_agent_allows_bursts_of_ten_and_retry_after_is_sixty(caller: Caller, live_world: World) -> None:
    """Agent, "Rate Limiting": 60 a minute, burst limit 10, retry after 60 seconds."""
    client = caller(user=create_member(live_world, steady_id(period=10, seconds=7)))
    replies = [client.post("/agent/respond", QUERY) for _ in range(11)]
    assert [reply.status for reply in replies] == [400] * 10 + [429]
    assert (replies[-1].headers["retry-after"], replies[-1].body["error"]["type"]) == ("60", "RATE_LIMITED")
    assert limit_headers(replies[0])[0] == 60
    assert client.get("/agent/health").status == 429, "the agent's two paths are counted together"


def test_a_rejected_burst_does_not_count_for_the_minute(
    caller: Caller, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(rate_limits.MAX_BURSTS, "agent_requests", 0)
    client = caller()
    assert [client.post("/agent/respond", QUERY).status for _ in range(3)] == [429] * 3
    monkeypatch.setitem(rate_limits.MAX_BURSTS, "agent_requests", 10)
    assert limit_headers(client.post("/agent/respond", QUERY))[:2] == (60, 59)
    settings.RAG_REQUESTS_PER_MINUTE = settings.RAG_REQUESTS_PER_MINUTE | {"agent_requests": 1}
    assert client.post("/agent/respond", QUERY).headers["retry-after"] == "60"


def test_the_search_service_counts_each_api_key_separately(
    caller: Caller, live_server: LiveServer, live_world: World, settings: Settings
) -> None:
    """Search service: 100 a minute per API key, "rate limit headers as per HTTP standards"."""
    assert rate_limits.SERVICE_SEARCHES.default == 100
    settings.RAG_REQUESTS_PER_MINUTE = settings.RAG_REQUESTS_PER_MINUTE | {"service_searches": 1}
    first, second = (Client(live_server.url).with_headers(X_API_Key=steady_key(live_world)) for _ in range(2))
    for client in (first, second, caller()):
        served = client.post("/api/v1/search", {"query": "x"})
        assert (served.status, limit_headers(served, "")[:2]) == (200, (1, 0))
        assert 0 < limit_headers(served, "")[2] <= 60
        refused = client.post("/api/v1/search", {"query": "x"})
        assert (refused.status, refused.body["error"]) == (429, "rate_limit_exceeded")
        assert 0 < int(refused.headers["retry-after"]) <= 60
    assert not [name for name in refused.headers if name.startswith("x-ratelimit")]


def test_all_keys_of_a_user_together_have_a_limit(
    live_server: LiveServer, live_world: World, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user may have a hundred keys. Those of others are not affected."""
    monkeypatch.setattr(rate_limits, "MAX_KEYS_AT_LIMIT", 2)
    settings.RAG_REQUESTS_PER_MINUTE = settings.RAG_REQUESTS_PER_MINUTE | {"service_searches": 2}
    live_world.users["keyholder"] = create_member(live_world, steady_id(seconds=45, counted="keys of"))
    secrets = [live_world.key("keyholder", "query").secret for _ in range(3)] + [
        live_world.key("member", "query").secret
    ]
    clients = [Client(live_server.url).with_headers(X_API_Key=secret) for secret in secrets]
    replies = [client.post("/api/v1/search", {"query": "x"}) for client in clients for _ in range(2)]
    assert [reply.status for reply in replies] == [200] * 4 + [429] * 2 + [200] * 2
    assert limit_headers(replies[4], "")[:2] == (2, 0)
    assert 0 < int(replies[4].headers["retry-after"]) <= 60


def steady_key(world: World) -> str:
    """A key whose rate limit window lasts at least 20 more seconds."""
    issued = iter(lambda: world.key("member", "query"), None)
    return next(
        issued_key.secret for issued_key in issued if _get_window(f"key {issued_key.key.pk}", 60) - time.time() > 20
    )


def count_warnings(caplog: pytest.LogCaptureFixture) -> int:
    events = [record.msg["event"] for record in caplog.records if isinstance(record.msg, dict)]
    return events.count("rate_limit_not_counted")


@pytest.mark.parametrize("failure", ["nothing listens", "nothing answers"])
def test_without_redis_requests_are_served_and_logged(
    caller: Caller,
    settings: Settings,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    failure: str,
) -> None:
    """Shared rules: "if Redis is down, requests are served and the event logged". Only one request waits for Redis."""
    monkeypatch.setattr(rate_limits, "_REDIS_PAUSE_SECONDS", 600)
    settings.RAG_REQUESTS_PER_MINUTE = settings.RAG_REQUESTS_PER_MINUTE | {"queries": 1}
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        if failure == "nothing answers":
            silent.listen()
        cache = {**settings.CACHES["default"], "LOCATION": f"redis://127.0.0.1:{silent.getsockname()[1]}/0"}
        cache["OPTIONS"] = {**cache["OPTIONS"], "socket_timeout": 1}
        settings.CACHES = {"default": cache}
        client = caller()
        replies = [client.post("/api/rag/search", QUERY) for _ in range(5)]
    assert {(reply.status, limit_headers(reply)[:2]) for reply in replies} == {(400, (1, 1))}
    assert count_warnings(caplog) == 1


def test_rate_limits_can_be_disabled(caller: Caller, settings: Settings) -> None:
    settings.RAG_RATE_LIMITS, settings.RAG_REQUESTS_PER_MINUTE = False, {"queries": 1}
    client = caller()
    replies = [client.post("/api/rag/search", QUERY) for _ in range(3)]
    assert {reply.status for reply in replies} == {400}
    assert "x-ratelimit-limit" not in replies[0].headers
