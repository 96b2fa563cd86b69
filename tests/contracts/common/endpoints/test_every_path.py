"""Shared rules: what holds for every path of the five contracts and for the additional paths."""

import functools
import re
from collections.abc import Callable

from django.db import connection
from django.test import Client as Browser
from pytest_django import Settings

from rag.models import EmbeddingModel
from ragsite.postgres import identity
from tests.support.checks import conformance
from tests.support.factories import World, ingest_text
from tests.support.http import Client
from tests.support.servers.provider_server import ProviderServer

Api = Callable[..., Client]
UNKNOWN = "0198c5c0-5d3a-7c5f-9d2e-3b1f0a7c4e11"
# Every path that searches: a body, and the status and error name of an index outage.
SEARCHES = [
    ("/api/rag/search", {"query": "zebra"}, 503, "Service unavailable"),
    ("/api/chat", {"messages": [{"role": "user", "content": "zebra"}], "useRag": True}, 503, "Service unavailable"),
    ("/api/rag/search", {"query_text": "zebra"}, 500, "Internal server error"),
    ("/api/rag/answer", {"query_text": "zebra"}, 500, "Internal server error"),
    ("/functions/v1/rag-search", {"query_text": "zebra"}, 500, "Internal server error"),
    ("/functions/v1/rag-answer", {"query_text": "zebra"}, 500, "Internal server error"),
    ("/api/rag/retrieve", {"query": "zebra"}, 503, "INDEX_UNAVAILABLE"),
    ("/api/rag/query", {"query": "zebra"}, 503, "INDEX_UNAVAILABLE"),
    ("/agent/respond", {"query": "zebra"}, 500, "RETRIEVAL_FAILED"),
    ("/api/v1/search", {"query": "zebra"}, 503, "service_unavailable"),
]


@functools.cache
def operations() -> list[tuple[str, str]]:
    """(method, path) of every operation."""
    return [
        (method.upper(), re.sub(r"\{\w+\}", UNKNOWN, path))
        for path, methods in conformance.document()["paths"].items()
        for method in methods
    ]


def test_the_paths_are_exactly_the_documented_ones() -> None:
    """Shared rules, the table of paths, and the additional paths."""
    assert {(method, path.replace(UNKNOWN, "{}")) for method, path in operations()} == {
        ("POST", "/api/rag/ingest"), ("POST", "/api/rag/search"), ("POST", "/api/chat"),
        ("POST", "/api/rag/answer"), ("POST", "/functions/v1/rag-search"), ("POST", "/functions/v1/rag-answer"),
        ("GET", "/api/rag/ingest"), ("GET", "/api/rag/ingest/{}/documents"), ("POST", "/api/rag/ingest/{}/retry"),
        ("GET", "/api/rag/ingest/{}"), ("DELETE", "/api/rag/ingest/{}"),
        ("GET", "/api/rag/sources"), ("POST", "/api/rag/sources"), ("GET", "/api/rag/sources/{}"),
        ("PATCH", "/api/rag/sources/{}"), ("DELETE", "/api/rag/sources/{}"),
        ("GET", "/api/rag/sources/{}/documents"), ("DELETE", "/api/rag/sources/{}/documents"),
        ("GET", "/api/rag/sources/{}/documents/{}"), ("DELETE", "/api/rag/sources/{}/documents/{}"),
        ("GET", "/api/rag/sources/{}/access"), ("POST", "/api/rag/explain"),
        ("GET", "/api/rag/webhooks"), ("POST", "/api/rag/webhooks"), ("GET", "/api/rag/webhooks/{}"),
        ("PATCH", "/api/rag/webhooks/{}"), ("DELETE", "/api/rag/webhooks/{}"), ("POST", "/api/rag/webhooks/{}/rotate"),
        ("POST", "/api/rag/webhooks/{}/test"), ("GET", "/api/rag/webhooks/{}/deliveries"),
        ("POST", "/api/rag/query"), ("POST", "/api/rag/retrieve"),
        ("POST", "/agent/respond"), ("GET", "/agent/health"),
        ("POST", "/api/v1/search"), ("GET", "/api/v1/search/{}"),
        ("GET", "/v1/models"), ("GET", "/v1/models/{}"), ("POST", "/v1/chat/completions"), ("POST", "/v1/embeddings"),
        ("POST", "/api/auth/token"), ("POST", "/api/auth/token/refresh"), ("POST", "/api/auth/token/verify"),
        ("POST", "/api/auth/token/revoke"),
        ("GET", "/api/auth/keys"), ("POST", "/api/auth/keys"), ("DELETE", "/api/auth/keys/{}"),
        ("POST", "/api/auth/keys/{}/rotate"),
        ("GET", "/api/auth/member-keys"), ("DELETE", "/api/auth/member-keys/{}"),
    }  # fmt: skip


def test_every_path_works_with_and_without_a_slash_and_requires_authentication(local_api: Api) -> None:
    """Shared rules: "with and without a trailing slash, and never by a redirect on POST"; 401: `WWW-Authenticate`."""
    anonymous_client, owner = local_api(), local_api("owner")
    for method, path in operations():
        anonymous = [anonymous_client.send(method, url, b"{}") for url in (path, path + "/")]
        if path.startswith("/api/auth/token"):
            assert [reply.status for reply in anonymous] == [400, 400], path
            continue
        for reply in anonymous:
            assert reply.status == 401, (method, path)
            assert reply.headers["www-authenticate"].startswith("Bearer"), (method, path)
        plain, slashed = (owner.send(method, url, b"{}") for url in (path, path + "/"))
        assert plain.status == slashed.status, (method, path)
        assert plain.status in (200, 400, 404), (method, path, plain)
    for path in ("/healthz", "/readyz", "/api/schema"):
        assert [anonymous_client.get(url).status for url in (path, path + "/")] == [200, 200], path


def test_an_admin_session_is_not_a_credential(live_world: World, client: Browser) -> None:
    """Shared rules: "Session login serves the admin and the playground only"."""
    client.force_login(live_world.users["owner"])
    for method, path in operations():
        if not path.startswith("/api/auth/token"):
            reply = client.generic(method, path, b"{}", content_type="application/json")
            assert reply.status_code == 401, (method, path)


def test_an_index_outage_is_rendered_by_every_contract(api: Api, live_world: World) -> None:
    """Pipeline: `INDEX_UNAVAILABLE`, "Vector database down"; shared rules, "Errors": 503; 500 in retrieval and agent.
    v3, 5: "503 Service Unavailable - Vector store … unavailable"."""
    ingest_text(live_world.source(), "a", "Zebras have stripes.")
    member = api("member")
    with identity.run_as(identity.OWNER), connection.cursor() as cursor:
        cursor.execute("ALTER TABLE rag_embedding384 RENAME TO elsewhere")
        try:
            replies = [member.post(path, body) for path, body, *_ in SEARCHES]
        finally:
            cursor.execute("ALTER TABLE elsewhere RENAME TO rag_embedding384")
    for reply, (path, _, status, name) in zip(replies, SEARCHES, strict=True):
        error = reply.body["error"]
        assert (reply.status, error["type"] if isinstance(error, dict) else error) == (status, name), path
        details = error["details"] if isinstance(error, dict) else reply.body["details"]
        assert details["request_id"] == reply.headers["x-request-id"]
        assert not re.search("relation|embedding384|SELECT|Traceback", str(reply.body)), path
    assert member.post("/api/rag/retrieve", {"query": "zebra"}).status == 200


def test_an_embedding_failure_is_rendered_by_every_contract(
    api: Api, live_world: World, settings: Settings, model_provider: ProviderServer
) -> None:
    """Pipeline: `EMBEDDING_FAILED`, "Cannot embed query"; retrieval: "500: Embedding API failure"; its 429 is a 503."""
    settings.RAG_EMBEDDING_MAX_RETRIES = 0
    model = EmbeddingModel.objects.create(
        name="far", provider="openai", dimensions=384, base_url=model_provider.base_url
    )
    live_world.source(embedding_model=model)
    member = api("member")
    for status, expected in (
        (401, [503, 503, 500, 500, 500, 500, 503, 503, 500, 503]),
        (429, [503, 503, 503, 503, 503, 503, 503, 503, 500, 503]),
    ):
        statuses = []
        for path, body, *_ in SEARCHES:
            model_provider.fail(status)
            reply = member.post(path, body)
            assert "as the test asked" not in str(reply.body), "the provider's message must not leak"
            statuses.append(reply.status)
        assert statuses == expected
    model_provider.fail(401)
    assert member.post("/api/rag/query", {"query": "zebra"}).body["error"] == "EMBEDDING_FAILED"


def test_messages_name_the_field_and_what_to_do(api: Api) -> None:
    """Shared rules: "`message` is for people"."""
    owner = api("owner")
    long_query = {"query_text": "x" * 501}
    assert (
        owner.post("/functions/v1/rag-search", long_query).body["message"]
        == "query_text must have at most 500 characters"
    )
    service = owner.post("/api/v1/search", {"query": "x" * 2001})
    assert service.body["message"] == "query must have at most 2,000 characters"
    key = owner.post("/api/auth/keys", {"name": "n8n"})
    assert key.body["message"] == "scopes is required"
    documents = [{"path": "a", "text": "Zebras.", "date": "yesterday"}]
    job = owner.post("/api/rag/ingest", {"dataSourceId": "domestic", "documents": documents})
    assert job.body["message"] == "date must be a time, as 2025-01-31T00:00:00Z"
    form = owner.with_headers(Content_Type="application/x-www-form-urlencoded").post("/api/rag/search", b"a=b")
    assert "`Content-Type: application/json`" in form.body["message"]
    stale = api().with_headers(Authorization="Bearer stale").post("/api/rag/search", {"query": "zebra"})
    assert (stale.status, "POST /api/auth/token" in stale.body["message"]) == (401, True)
    assert "/api/docs" in owner.get("/api/nowhere").body["message"]


def test_two_slashes_in_front_of_a_path_are_an_error_in_its_format() -> None:
    """A base address that ends in a slash is easily joined so with a path."""
    address = "http://testserver//functions/v1/rag-search"
    response = Browser().generic("POST", address, b"{}", content_type="application/json")
    assert (response.status_code, response.json()["status"]) == (404, "error")
    assert response.json()["message"].startswith("There is no //functions/v1/rag-search here")
