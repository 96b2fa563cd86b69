"""Rate limits (docs/contracts/limits.md): exact across all processes; requests are served if Redis is down."""

import os
import socket
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client as Browser
from django_ratelimit.core import _get_window
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer
from rest_framework_simplejwt.tokens import AccessToken

from accounts.models import User
from orgs.api_keys import service
from orgs.policies.rate_limits import requests_per_minute
from orgs.services import add_member
from rag.contracts.common import rate_limits
from rag.services.search import queries
from ragsite.run import processes
from tests.support.factories import PASSWORD, World
from tests.support.http import Client, Reply

Caller = Callable[..., Client]


@pytest.fixture(autouse=True)
def limited(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.RAG_RATE_LIMITS = True
    monkeypatch.setattr(rate_limits, "_uncounted_until", 0.0)


def steady_id(*, period: int = 60, seconds: float) -> uuid.UUID:
    """A user id whose current window still lasts this long, so that no test runs past its end."""
    while True:
        key = uuid.uuid4()
        if _get_window(f"user {key}", period) - time.time() > seconds:
            return key


@pytest.fixture
def caller(live_server: LiveServer, live_world: World) -> Caller:
    """A new member of `home` whose minute has at least half a minute left."""

    def signed_in(*, address: str = live_server.url, user: User | None = None) -> Client:
        user = user or member(live_world, steady_id(seconds=30))
        return Client(address, {"Authorization": f"Bearer {AccessToken.for_user(user)}"})

    return signed_in


def member(world: World, key: uuid.UUID) -> User:
    user = User.objects.create_user(f"{key}@home.example", PASSWORD, pk=key)
    add_member(user=user, organization=world.home)
    return user


def limit_headers(reply: Reply, prefix: str = "x-") -> tuple[int, int, int]:
    return tuple(int(reply.headers[f"{prefix}ratelimit-{name}"]) for name in ("limit", "remaining", "reset"))  # type: ignore[return-value]


# A body that is refused after it was counted: the limits are tested, not the search.
QUERY: dict[str, Any] = {}


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
        "DJANGO_SETTINGS_MODULE": "tests.support.worker_settings",
        "TEST_DATABASE": str(connection.settings_dict["NAME"]),
        "RAG_RATE_LIMITS": "on",
    }
    with open(tmp_path / "web.log", "wb") as log:
        server = subprocess.Popen(processes.web(host="127.0.0.1", port=port), env=environment, stdout=log, stderr=log)
    address = f"http://127.0.0.1:{port}"

    def up() -> bool:
        try:
            return Client(address).get("/healthz").status == 200
        except OSError:
            return False

    try:
        eventually(up)
        yield address
    finally:
        server.terminate()
        server.wait(20)


def test_several_processes_share_one_exact_counter(
    caller: Caller, gunicorn: str, live_world: World, live_server: LiveServer
) -> None:
    """200 requests at once through three processes: exactly 60 are served."""
    user = member(live_world, steady_id(seconds=45))
    clients = [caller(address=address, user=user) for address in (gunicorn, live_server.url, gunicorn, gunicorn)]
    with ThreadPoolExecutor(32) as pool:
        replies = list(pool.map(lambda number: clients[number % 4].post("/api/rag/search", QUERY), range(200)))
    served = [reply for reply in replies if reply.status == 400]
    assert [reply.status for reply in replies if reply not in served] == [429] * 140
    assert sorted(limit_headers(reply)[1] for reply in served) == list(range(60))


def test_every_response_of_the_path_has_the_headers(
    caller: Caller, live_server: LiveServer, live_world: World, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    """Requests that were not counted show the whole limit."""
    client, anonymous = caller(), Client(live_server.url)
    assert limit_headers(client.send("PUT", "/api/rag/search", b"{}"))[1] == 59
    assert limit_headers(client.post("/api/rag/search", b"{"))[1] == 58
    monkeypatch.setattr(queries, "retrieve", lambda *_: 1 / 0)
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
    """RESOLUTION: "`X-RateLimit-Limit/-Remaining/-Reset` on every response": 200, 400, 401, 405, 413, 415, 429, 500."""
    settings.RAG_REQUESTS_PER_MINUTE = settings.RAG_REQUESTS_PER_MINUTE | {"queries": 5}
    client, question = caller(), {"query_text": "x"}
    replies = [
        client.post(path, question),
        client.post(path, {"query_text": ""}),
        client.send("PUT", path, b"{}"),
        client.with_headers(Content_Type="text/plain").post(path, b"x"),
    ]
    with monkeypatch.context() as broken:
        broken.setattr(queries, "_scopes", lambda *_: 1 / 0)
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


def test_ingestion_has_its_own_limit(caller: Caller) -> None:
    """RESOLUTION: "ingestion 600/min per user", for both contracts on the path."""
    client = caller()
    assert limit_headers(client.post("/api/rag/ingest", {}))[:2] == (600, 599)
    assert limit_headers(client.post("/api/rag/ingest", {"documents": []}))[:2] == (600, 598)
    assert limit_headers(client.post("/api/rag/search", QUERY))[:2] == (60, 59)


def test_the_agent_allows_bursts_of_ten_and_retry_after_is_sixty(caller: Caller, live_world: World) -> None:
    """Agent, "Rate Limiting": 60 a minute, burst limit 10, retry after 60 seconds."""
    client = caller(user=member(live_world, steady_id(period=10, seconds=7)))
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


def steady_key(world: World) -> str:
    """A key whose minute has at least 20 seconds left."""
    issued = iter(lambda: world.key("member", "query"), None)
    return next(
        issued_key.secret for issued_key in issued if _get_window(f"key {issued_key.key.pk}", 60) - time.time() > 20
    )


def test_an_organisation_may_have_its_own_limit(
    caller: Caller, live_server: LiveServer, live_world: World, settings: Settings
) -> None:
    settings.RAG_REQUESTS_PER_MINUTE = settings.RAG_REQUESTS_PER_MINUTE | {"queries": 2}
    live_world.home.queries_per_minute = 3
    live_world.home.save()
    user = member(live_world, steady_id(seconds=30))
    client = caller(user=user)
    assert [client.post("/api/rag/search", QUERY).status for _ in range(4)] == [400] * 3 + [429]
    live_world.home.queries_per_minute = 6
    live_world.home.save()
    raised = client.post("/api/rag/search", QUERY)
    assert (raised.status, limit_headers(raised)[:2]) == (400, (6, 1)), "what was counted counts on"
    add_member(user=user, organization=live_world.abroad)
    abroad = service.issue(user=user, organization=live_world.abroad, name="abroad", scopes=["query"])
    key = Client(live_server.url).with_headers(X_API_Key=abroad.secret)
    assert key.post("/functions/v1/rag-search", QUERY).status == 429, "the key's organisation has the default, 2"


def test_which_organisations_limit_applies(world: World) -> None:
    """That of the named organisation, else the highest of the caller's active organisations."""
    member, field = world.users["member"], "queries_per_minute"

    def limit(named: str = "") -> int:
        return requests_per_minute(member, field, default=60, named=named)

    assert limit() == 60
    world.home.queries_per_minute, world.abroad.queries_per_minute = 10, 90
    world.home.save()
    world.abroad.save()
    assert (limit(), limit("abroad"), limit("nowhere")) == (10, 60, 60)
    membership = add_member(user=member, organization=world.abroad)
    assert (limit(), limit("home"), limit(str(world.abroad.pk).upper())) == (90, 10, 90)
    membership.is_active = False
    membership.save()
    assert limit() == 10


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
    """RESOLUTION: "if Redis is down, requests are served and the event logged". Only one request waits for Redis."""
    monkeypatch.setattr(rate_limits, "_REDIS_PAUSE_SECONDS", 600)
    settings.RAG_REQUESTS_PER_MINUTE = settings.RAG_REQUESTS_PER_MINUTE | {"queries": 1}
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        if failure == "nothing answers":
            silent.listen()
        cache = {**settings.CACHES["default"], "LOCATION": f"redis://127.0.0.1:{silent.getsockname()[1]}/0"}
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


def test_only_a_superuser_sets_the_limits_of_an_organisation(world: World) -> None:
    page = f"/admin/orgs/organization/{world.home.pk}/change/"
    change = {"name": "Home", "slug": "home", "is_active": "on", "default_visibility": "public"}
    change["query_history"] = "full"
    owner = world.users["owner"]
    for is_superuser, expected in ((False, None), (True, 120)):
        owner.is_staff, owner.is_superuser = True, is_superuser
        owner.save()
        browser = Browser()
        browser.force_login(owner)
        assert b"queries per minute" in browser.get(page).content.lower()
        assert browser.post(page, {**change, "queries_per_minute": "120"}).status_code == 302
        world.home.refresh_from_db()
        assert world.home.queries_per_minute == expected
    assert browser.post(page, {**change, "queries_per_minute": "0"}).status_code == 200
