"""How many statements each endpoint that searches sends to the database at most, through its real view.

Each one is a round trip, which a search waits for. More statements than here need a reason.
"""

import math
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from rest_framework_simplejwt.tokens import AccessToken

from rag.services.access import access_rechecks
from tests.support.factories import World, ingest_text

# The tests run in a transaction, where those of the code are savepoints.
_TRANSACTION = ("SAVEPOINT", "RELEASE SAVEPOINT")
_ASKED = [{"role": "user", "content": "What do zebras have?"}]
_MCP = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
# Endpoint, body → the statements at most.
MAX_STATEMENTS = [
    ("/api/rag/search", {"query": "What do zebras have?"}, 6),
    ("/api/chat", {"messages": _ASKED, "useRag": True}, 14),
    ("/api/rag/search", {"query_text": "What do zebras have?"}, 6),
    ("/functions/v1/rag-search", {"query_text": "What do zebras have?"}, 6),
    ("/api/rag/answer", {"query_text": "What do zebras have?"}, 8),
    ("/functions/v1/rag-answer", {"query_text": "What do zebras have?"}, 8),
    ("/api/rag/retrieve", {"query": "What do zebras have?"}, 8),
    ("/api/rag/retrieve", {"query": "What do zebras have?", "dataSources": ["library", "archive"]}, 8),
    ("/api/rag/query", {"query": "What do zebras have?"}, 9),
    ("/agent/respond", {"query": "What do zebras have?"}, 12),
    ("/api/v1/search", {"query": "What do zebras have?"}, 11),
    ("/v1/chat/completions", {"model": "ragsite", "messages": _ASKED}, 10),
    ("/mcp", {**_MCP, "params": {"name": "search", "arguments": {"query": "What do zebras have?"}}}, 7),
]


@pytest.fixture
def filled_world(world: World) -> World:
    ingest_text(world.source("library"), "a", "Zebras have stripes.")
    ingest_text(world.source("archive"), "b", "A zebra sleeps.")
    return world


def test_no_endpoint_sends_more_statements(filled_world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    # Answers that take longer than a second check access again, which would depend on the speed of the machine.
    monkeypatch.setattr(access_rechecks, "CHECK_INTERVAL_SECONDS", math.inf)
    token = str(AccessToken.for_user(filled_world.users["member"]))
    client = Client(headers={"Authorization": f"Bearer {token}"})
    statements: list[str] = []

    def record(execute: Any, sql: Any, params: Any, many: bool, context: Any) -> Any:
        if not str(sql).startswith(_TRANSACTION):
            statements.append(str(sql))
        return execute(sql, params, many, context)

    too_many = []
    for path, body, maximum in MAX_STATEMENTS:
        # The first request also loads models and settings, and stems words with more configurations.
        assert client.post(path, body, content_type="application/json").status_code == 200, path
        statements.clear()
        with connection.execute_wrapper(record):
            reply = client.post(path, body, content_type="application/json")
        assert "ebra" in reply.content.decode(), (path, reply.content)
        if len(statements) > maximum:
            too_many.append(f"{path}: {len(statements)} instead of {maximum}\n  " + "\n  ".join(statements))
    assert not too_many, "\n".join(too_many)
