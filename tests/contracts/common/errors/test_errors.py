"""Every error has the format of the contract whose path was called (docs/contracts/errors.md)."""

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
from django.db import OperationalError, connection
from django.test import Client as InProcess
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer
from rest_framework_simplejwt.tokens import AccessToken

from rag.models import IngestionJob
from rag.services.queries import permitted_queries
from rag.services.sources import creation, lookup
from tests.access.database.injection import web_process
from tests.contracts.common.errors.error_formats import HANDLERS, NAMES, parse_error
from tests.support.factories import World
from tests.support.http import Client


@dataclass(frozen=True)
class Path:
    """A path of a contract, and an unknown path with the same prefix."""

    contract: str
    known: str
    unknown: str


PATHS = [
    Path("v3", "/api/rag/search", "/api/nowhere"),
    Path("v3", "/api/rag/ingest", "/metrics/nowhere"),
    Path("pipeline", "/api/rag/retrieve", "/api/rag/sources/a/b"),
    Path("retrieval", "/functions/v1/rag-search", "/functions"),
    Path("agent", "/agent/respond", "/agent/nowhere/"),
    Path("search service", "/api/v1/search", "/api/v1/"),
]


@pytest.fixture
def client(live_server: LiveServer, live_world: World, settings: Settings) -> Client:
    token = AccessToken.for_user(live_world.users["editor"])
    return Client(live_server.url, {"Authorization": f"Bearer {token}"})


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.known)
def test_every_error_has_the_contracts_format(
    client: Client, settings: Settings, monkeypatch: pytest.MonkeyPatch, path: Path
) -> None:
    for module, name in ((permitted_queries, "retrieve"), (creation, "get_or_build_source")):
        monkeypatch.setattr(module, name, raising(RuntimeError("password=hunter2")))
    document = {"source": "a", "path": "a", "title": "a", "text": "a"}
    question = {"query_text": "xyz"} if path.contract == "retrieval" else {"query": "xyz"}
    failing_body = {**question, **document}
    form = client.with_headers(Content_Type="application/x-www-form-urlencoded")
    replies = {
        "unknown path": (404, client.post(path.unknown, {})),
        "unknown path, read": (404, client.get(path.unknown)),
        "wrong method": (405, client.send("PATCH", path.known, b"{}")),
        "invented method": (405, client.send("BREW", path.known, b"{}")),
        "wrong content type": (415, form.post(path.known, b"a=b")),
        "broken JSON": (400, client.post(path.known, b'{"query": ')),
        "no object": (400, client.post(path.known, [])),
        "unauthenticated": (401, Client(client.address).post(path.known, {})),
        "wrong token": (401, client.with_headers(Authorization="Bearer x").post(path.known, {})),
        "unexpected exception": (500, client.post(path.known, failing_body)),
    }
    settings.RAG_MAX_BODY_BYTES = 100
    replies["too large"] = (413, client.post(path.known, {"query": "x" * 200}))
    replies["unknown path, too large"] = (413, client.post(path.unknown, {"query": "x" * 200}))
    for kind, (status, reply) in replies.items():
        assert reply.status == status, kind
        name, message, details = parse_error(path.contract, reply.body)
        assert name == NAMES[path.contract][status], kind
        assert message, kind
        assert "hunter2" not in str(reply.body), kind
        assert details["request_id"] == reply.headers["x-request-id"], kind
    assert replies["unauthenticated"][1].headers["www-authenticate"].startswith("Bearer")
    assert "POST" in replies["wrong method"][1].headers["allow"]


def raising(exception: Exception) -> Callable[..., Any]:
    def fail(*_: object, **__: object) -> None:
        raise exception

    return fail


def test_errors_of_a_shared_path_have_the_selected_contracts_format(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lookup, "get_source_to_ingest", raising(RuntimeError()))
    job = {"dataSourceId": "a", "documents": [{"text": "a"}]}
    assert parse_error("pipeline", client.post("/api/rag/ingest", job).body)[0] == "INTERNAL_ERROR"
    assert parse_error("pipeline", client.get("/api/rag/ingest/x").body)[0] == "JOB_NOT_FOUND"
    assert parse_error("v3", client.post("/api/rag/ingest", b"{").body)[0] == "Validation error"


def test_a_database_outage(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Retrieval and agent state 500 for it; pipeline's INDEX_UNAVAILABLE is its "Vector DB down"."""
    monkeypatch.setattr(permitted_queries, "retrieve", raising(OperationalError("host=10.0.0.7 refused")))
    for contract, path, name in (
        ("v3", "/api/rag/search", "Service unavailable"),
        ("pipeline", "/api/rag/retrieve", "INDEX_UNAVAILABLE"),
    ):
        reply = client.post(path, {"query": "x"})
        assert (reply.status, parse_error(contract, reply.body)[0], reply.headers["retry-after"]) == (503, name, "2")
        assert parse_error(contract, reply.body)[2]["request_id"] == reply.headers["x-request-id"]
        assert "10.0.0.7" not in str(reply.body)
    for contract, status, name in (
        ("retrieval", 500, "Internal server error"),
        ("agent", 500, "SERVICE_UNAVAILABLE"),
        ("search service", 503, "service_unavailable"),
    ):
        response = HANDLERS[contract](OperationalError("x"), {})
        assert response is not None
        assert (response.status_code, parse_error(contract, response.data)[0]) == (status, name)
        assert ("Retry-After" in response.headers) == (status == 503)


@contextlib.contextmanager
def locked(table: str) -> Iterator[None]:
    """Hold an exclusive lock on the table, like a long schema change."""
    name = connection.settings_dict["NAME"]
    with psycopg.connect(os.environ["DATABASE_URL"], dbname=name) as owner:
        owner.execute("SET idle_in_transaction_session_timeout = '10s'")  # ends a test that blocks forever
        owner.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
        yield


@pytest.mark.django_db(transaction=True)
def test_a_locked_table_does_not_block_a_thread_forever(live_world: World, settings: Settings) -> None:
    """docs/operations/settings.md: RAG_DATABASE_STATEMENT_TIMEOUT_SECONDS. A job waits in its COMMIT, not in a
    statement."""
    settings.RAG_DATABASE_STATEMENT_TIMEOUT_SECONDS = 1
    live_world.source("library")
    browser = InProcess(headers={"authorization": f"Bearer {AccessToken.for_user(live_world.users['owner'])}"})
    path = "/api/rag/sources/library/documents"
    job = {"dataSourceId": "library", "documents": [{"text": "Zebras have stripes."}]}
    with web_process():
        assert browser.get(path).status_code == 200
        with locked("rag_document"):
            replies = [browser.get(path), browser.post("/api/rag/ingest", job, content_type="application/json")]
        assert [(reply.status_code, reply.headers.get("Retry-After")) for reply in replies] == [(503, "2")] * 2
        assert browser.get(path).status_code == 200
    assert not IngestionJob.objects.exists()


@pytest.mark.parametrize(
    "path",
    ["/api/rag/search", "/api/rag/query", "/agent/respond", "/mcp", "/metrics", "/scim/v2/Users", "/oauth/token", "/"],
)
def test_a_database_that_fails_before_the_view(world: World, path: str) -> None:
    """A browser sends the cookie of its session, which is read first. The agent's contract states 500."""
    status = 500 if path.startswith("/agent") else 503
    browser = InProcess(raise_request_exception=False)
    browser.force_login(world.users["owner"])
    with connection.execute_wrapper(raising(OperationalError("host=10.0.0.7 refused"))):
        reply = browser.get(path)
    assert (reply.status_code, reply.headers.get("Retry-After")) == (status, "2" if status == 503 else None)
    content = reply.content.decode()
    assert "does not answer" in content or "not available at the moment" in content
    assert "10.0.0.7" not in content


@pytest.mark.parametrize("accept", ["text/html", "application/xml;q=0.9", "image/*", "nonsense", ""])
def test_no_accept_header_makes_a_request_fail(client: Client, accept: str) -> None:
    reply = client.with_headers(Accept=accept).get("/api/rag/sources?format=xml")
    assert (reply.status, reply.headers["content-type"]) == (200, "application/json")
    assert client.with_headers(Accept=accept).post("/agent/respond", {}).status == 400


def test_unknown_methods_are_client_errors(client: Client) -> None:
    for path in (*(path.known for path in PATHS), "/api/rag/sources", "/api/nowhere", "/agent", "/v1"):
        assert client.send("OPTIONS", path).status in (200, 404), path
        assert Client(client.address).send("OPTIONS", path).status in (401, 404), path
        assert client.send("TRACE", path).status in (404, 405), path
        head = client.send("HEAD", path)
        assert (head.status, head.body) in ((200, None), (404, None), (405, None)), path


def test_the_request_id_of_a_client_is_ignored(client: Client) -> None:
    """An id from the client could forge log entries. Every response has a generated id."""
    sent = "x" * 300
    replies = [client.with_headers(X_Request_ID=sent).get(path) for path in ("/healthz", "/api/nowhere")]
    assert len({reply.headers["x-request-id"] for reply in replies} - {sent}) == 2
