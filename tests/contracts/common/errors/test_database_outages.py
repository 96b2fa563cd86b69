"""A database that does not answer, or not in time, is reported as each contract says."""

import contextlib
import os
from collections.abc import Iterator

import psycopg
import pytest
from django.db import OperationalError, connection
from django.test import Client as InProcess
from pytest_django import Settings
from rest_framework_simplejwt.tokens import AccessToken

from rag.models import IngestionJob
from rag.services.queries import permitted_queries
from tests.access.database.injection import web_process
from tests.contracts.common.errors.error_formats import HANDLERS, parse_error, raising
from tests.support.factories import World
from tests.support.http import Client


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
