"""Every error has the format of the contract whose path was called (docs/contracts/errors.md)."""

import contextlib
import datetime
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.db import OperationalError, connection, connections
from django.test import Client as InProcess
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer
from rest_framework_simplejwt.tokens import AccessToken

from rag import errors
from rag.contracts.agent import errors as agent
from rag.contracts.common.base import ErrorHandler
from rag.contracts.pipeline import errors as pipeline
from rag.contracts.retrieval import errors as retrieval
from rag.contracts.search_service import errors as search_service
from rag.contracts.v3 import errors as v3
from rag.models import IngestionJob
from rag.services.search import queries
from rag.services.sources import lookup
from ragsite.http.errors import TITLES
from ragsite.postgres import identity
from tests.support.factories import World
from tests.support.http import Client, Reply

HANDLERS: dict[str, ErrorHandler] = {
    "v3": v3.handle_exception,
    "retrieval": retrieval.handle_exception,
    "pipeline": pipeline.handle_exception,
    "agent": agent.handle_exception,
    "search service": search_service.handle_exception,
}
PIPELINE = {
    400: "INVALID_REQUEST",
    401: "UNAUTHENTICATED",
    404: "NOT_FOUND",
    405: "METHOD_NOT_ALLOWED",
    413: "PAYLOAD_TOO_LARGE",
    415: "UNSUPPORTED_MEDIA_TYPE",
    500: "INTERNAL_ERROR",
}
AGENT = {
    400: "INVALID_QUERY",
    401: "UNAUTHORIZED",
    404: "NOT_FOUND",
    405: "METHOD_NOT_ALLOWED",
    413: "PAYLOAD_TOO_LARGE",
    415: "UNSUPPORTED_MEDIA_TYPE",
    500: "AGENT_ERROR",
}
SEARCH_SERVICE = {
    400: "invalid_request",
    401: "unauthorized",
    404: "not_found",
    405: "method_not_allowed",
    413: "payload_too_large",
    415: "unsupported_media_type",
    500: "internal_error",
}
NAMES = {"v3": TITLES, "retrieval": TITLES, "pipeline": PIPELINE, "agent": AGENT, "search service": SEARCH_SERVICE}


def parse_error(contract: str, body: Any) -> tuple[str, str, dict[str, Any]]:
    """The name, message and details of an error; checks that it has exactly the contract's fields."""
    if contract == "agent":
        assert set(body) == {"error"}
        error = body["error"]
        assert set(error) == {"type", "message", "details", "timestamp"}
        assert datetime.datetime.fromisoformat(error["timestamp"]).tzinfo
        assert error["details"] != {}
        return error["type"], error["message"], error["details"] or {}
    status = {"status"} if contract == "retrieval" else set()
    assert set(body) == {"error", "message", "details"} | status
    assert body.get("status", "error") == "error"
    assert isinstance(body["details"], dict)
    return body["error"], body["message"], body["details"]


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
    for module, name in ((queries, "retrieve"), (lookup, "get_or_build_source")):
        monkeypatch.setattr(module, name, failing(RuntimeError("password=hunter2")))
    document = {"source": "a", "path": "a", "title": "a", "text": "a"}
    question = {"query_text": "xyz"} if path.contract == "retrieval" else {"query": "xyz"}
    fatal = {**question, **document}
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
        "unexpected exception": (500, client.post(path.known, fatal)),
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
        assert details.get("request_id", reply.headers["x-request-id"]) == reply.headers["x-request-id"], kind
        assert ("request_id" in details) == (status >= 500), kind
    assert replies["unauthenticated"][1].headers["www-authenticate"].startswith("Bearer")
    assert "POST" in replies["wrong method"][1].headers["allow"]


def failing(exception: Exception) -> Callable[..., Any]:
    def fail(*_: object, **__: object) -> None:
        raise exception

    return fail


def test_errors_of_a_shared_path_have_the_selected_contracts_format(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lookup, "get_source_to_ingest", failing(RuntimeError()))
    job = {"dataSourceId": "a", "documents": [{"text": "a"}]}
    assert parse_error("pipeline", client.post("/api/rag/ingest", job).body)[0] == "INTERNAL_ERROR"
    assert parse_error("pipeline", client.get("/api/rag/ingest/x").body)[0] == "JOB_NOT_FOUND"
    assert parse_error("v3", client.post("/api/rag/ingest", b"{").body)[0] == "Validation error"


def test_a_database_outage(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Retrieval and agent state 500 for it; pipeline's INDEX_UNAVAILABLE is its "Vector DB down"."""
    monkeypatch.setattr(queries, "retrieve", failing(OperationalError("host=10.0.0.7 refused")))
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
    """Holds an exclusive lock on the table, like a long schema change."""
    database = connections.create_connection("default")
    try:
        with database.cursor() as cursor:
            database.set_autocommit(False)
            cursor.execute("SET idle_in_transaction_session_timeout = '10s'")  # so that a request that waits is seen
            cursor.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
            yield
    finally:
        database.close()


@pytest.mark.django_db(transaction=True)
def test_a_locked_table_does_not_block_a_thread_forever(
    live_world: World, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """docs/operations/settings.md: RAG_DATABASE_STATEMENT_TIMEOUT_SECONDS. A job waits in its COMMIT, not in a
    statement."""
    settings.RAG_DATABASE_STATEMENT_TIMEOUT_SECONDS = 1
    live_world.source("library")
    browser = InProcess(headers={"authorization": f"Bearer {AccessToken.for_user(live_world.users['owner'])}"})
    path = "/api/rag/sources/library/documents"
    job = {"dataSourceId": "library", "documents": [{"text": "Zebras have stripes."}]}
    monkeypatch.setattr(identity, "_of_process", identity.NOBODY)
    connection.close()
    try:
        assert browser.get(path).status_code == 200
        with identity.run_as(identity.OWNER), locked("rag_document"):
            replies = [browser.get(path), browser.post("/api/rag/ingest", job, content_type="application/json")]
        assert [(reply.status_code, reply.headers.get("Retry-After")) for reply in replies] == [(503, "2")] * 2
        assert not IngestionJob.objects.exists()
        assert browser.get(path).status_code == 200
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("failure", "wait"),
    [
        (errors.GenerationFailed("x"), "2"),
        (errors.GenerationFailed("x", retry_after=29.2), "30"),
        (errors.GenerationFailed("x", retry_after=1e9), "3600"),
        (errors.GenerationFailed("x", is_retryable=False), None),
    ],
)
def test_a_503_has_retry_after(failure: errors.GenerationFailed, wait: str | None) -> None:
    """The provider's Retry-After, at most an hour; no header if a retry cannot help."""
    response = HANDLERS["v3"](failure, {})
    assert response is not None
    assert (response.status_code, response.headers.get("Retry-After")) == (503, wait)


@pytest.mark.parametrize("accept", ["text/html", "application/xml;q=0.9", "image/*", "nonsense", ""])
def test_no_accept_header_makes_a_request_fail(client: Client, accept: str) -> None:
    reply = client.with_headers(Accept=accept).get("/api/rag/sources?format=xml")
    assert (reply.status, reply.headers["content-type"]) == (200, "application/json")
    assert client.with_headers(Accept=accept).post("/agent/respond", {}).status == 400


def test_unknown_methods_are_client_errors(client: Client) -> None:
    for path in (*(path.known for path in PATHS), "/api/rag/sources", "/api/nowhere", "/agent"):
        assert client.send("OPTIONS", path).status in (200, 404), path
        assert Client(client.address).send("OPTIONS", path).status in (401, 404), path
        assert client.send("TRACE", path).status in (404, 405), path
        head = client.send("HEAD", path)
        assert (head.status, head.body) in ((200, None), (404, None), (405, None)), path


def test_the_request_id_of_a_client_is_ignored(client: Client) -> None:
    """It would be written to the log. Every response has a generated id."""
    sent = "x" * 300
    replies = [client.with_headers(X_Request_ID=sent).get(path) for path in ("/healthz", "/api/nowhere")]
    assert len({reply.headers["x-request-id"] for reply in replies} - {sent}) == 2


def preflight(client: Client, path: str, origin: str = "https://app.example") -> Reply:
    headers = {"Origin": origin, "Access_Control_Request_Method": "POST"}
    return Client(client.address).with_headers(**headers).send("OPTIONS", path)


@pytest.mark.parametrize("path", ["/functions/v1/rag-search", "/api/rag/search", "/agent/respond", "/api/v1/search"])
def test_all_origins_may_call_the_contracts(client: Client, path: str) -> None:
    """Retrieval, "CORS": all origins, `authorization, x-client-info, apikey, content-type`."""
    response = preflight(client, path)
    assert (response.status, response.headers["access-control-allow-origin"]) == (200, "*")
    allowed = set(response.headers["access-control-allow-headers"].split(", "))
    assert {"authorization", "x-client-info", "apikey", "content-type", "x-api-key"} <= allowed
    assert "POST" in response.headers["access-control-allow-methods"]
    assert "access-control-allow-credentials" not in response.headers
    page = client.with_headers(Origin="https://app.example")
    for reply in (page.post(path, {}), Client(client.address, {"Origin": "https://app.example"}).post(path, {})):
        assert reply.headers["access-control-allow-origin"] == "*"
        exposed = reply.headers["access-control-expose-headers"]
        assert {"x-ratelimit-remaining", "ratelimit-reset", "retry-after", "x-request-id"} <= set(exposed.split(", "))


def test_origins_can_be_restricted(client: Client, settings: Settings) -> None:
    settings.CORS_ALLOW_ALL_ORIGINS, settings.CORS_ALLOWED_ORIGINS = False, ["https://app.example"]
    named, other = (preflight(client, "/api/rag/search", origin) for origin in ("https://app.example", "https://evil"))
    assert named.headers["access-control-allow-origin"] == "https://app.example"
    assert "access-control-allow-origin" not in other.headers


def test_the_admin_and_health_have_no_cors_headers(client: Client) -> None:
    for path in ("/admin/login/", "/healthz", "/agentless"):
        request = urllib.request.Request(client.address + path, headers={"Origin": "https://app.example"})
        try:
            with urllib.request.urlopen(request) as response:
                headers = response.headers
        except urllib.error.HTTPError as error:
            with error:
                headers = error.headers
        assert not [name for name in headers if name.lower().startswith("access-control")], path


# Status in v3, pipeline and the search service; in retrieval; in agent; agent's type; the search service's code.
RENDERED = {
    "InvalidRequest": (400, 400, 400, "INVALID_QUERY", "invalid_request"),
    "UnknownSource": (404, 404, 404, "NOT_FOUND", "not_found"),
    "UnknownConversation": (404, 404, 404, "NOT_FOUND", "not_found"),
    "UnknownQuery": (404, 404, 404, "NOT_FOUND", "query_not_found"),
    "UnknownJob": (404, 404, 404, "NOT_FOUND", "not_found"),
    "UnknownDocument": (404, 404, 404, "NOT_FOUND", "not_found"),
    "NothingToRetry": (409, 409, 409, "AGENT_ERROR", "internal_error"),
    "NotAllowed": (403, 403, 403, "FORBIDDEN", "forbidden"),
    "NoAccessibleSources": (403, 403, 403, "FORBIDDEN", "forbidden"),
    "AccessEnded": (403, 403, 403, "FORBIDDEN", "forbidden"),
    "NoResults": (404, 404, 404, "NOT_FOUND", "not_found"),
    "DocumentTooLarge": (413, 413, 413, "PAYLOAD_TOO_LARGE", "payload_too_large"),
    "UnsupportedFormat": (415, 415, 415, "UNSUPPORTED_MEDIA_TYPE", "unsupported_media_type"),
    "ParseFailed": (422, 422, 422, "INVALID_QUERY", "unprocessable"),
    "IndexFull": (507, 507, 507, "AGENT_ERROR", "insufficient_storage"),
    "ContextOverflow": (422, 422, 422, "INVALID_QUERY", "unprocessable"),
    "TemplateInvalid": (422, 422, 422, "INVALID_QUERY", "unprocessable"),
    "InsufficientContext": (422, 422, 422, "INVALID_QUERY", "unprocessable"),
    "NotGrounded": (422, 422, 422, "GROUNDING_FAILED", "unprocessable"),
    "EmbeddingFailed": (503, 500, 500, "RETRIEVAL_FAILED", "service_unavailable"),
    "RerankFailed": (503, 500, 500, "RETRIEVAL_FAILED", "service_unavailable"),
    "GroundingFailed": (503, 500, 500, "GROUNDING_FAILED", "service_unavailable"),
    "StorageFailed": (503, 500, 500, "AGENT_ERROR", "service_unavailable"),
    "GenerationFailed": (503, 500, 500, "AGENT_ERROR", "service_unavailable"),
    "NoLanguageModel": (503, 503, 500, "AGENT_ERROR", "service_unavailable"),
    "IndexUnavailable": (503, 500, 500, "RETRIEVAL_FAILED", "service_unavailable"),
    "ModelChanged": (503, 500, 500, "RETRIEVAL_FAILED", "service_unavailable"),
    "DatabaseUnavailable": (503, 500, 500, "SERVICE_UNAVAILABLE", "service_unavailable"),
}


def kinds_of(error: type[errors.RagError]) -> set[type[errors.RagError]]:
    return {error}.union(*(kinds_of(subclass) for subclass in error.__subclasses__()))


# The root and what providers' errors have in common are never raised themselves.
KINDS = sorted(kinds_of(errors.RagError) - {errors.RagError, errors.ProviderFailed}, key=lambda kind: kind.__name__)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_rag_error_is_rendered_by_every_contract(kind: type[errors.RagError]) -> None:
    common, of_retrieval, of_agent, agent_type, service_code = RENDERED[kind.__name__]
    error = kind("A sentence.", **({"field": "top_k"} if kind is errors.InvalidRequest else {}))
    expected = {
        "v3": (common, TITLES[common]),
        "retrieval": (of_retrieval, TITLES[of_retrieval]),
        "pipeline": (common, kind.code),
        "agent": (of_agent, agent_type),
        "search service": (common, service_code),
    }
    for contract, handle in HANDLERS.items():
        response = handle(error, {})
        assert response is not None
        name, message, details = parse_error(contract, response.data)
        assert (response.status_code, name) == expected[contract], contract
        assert message == "A sentence."
        assert ("request_id" in details) == (response.status_code >= 500)


@pytest.mark.parametrize("kind", [errors.EmbeddingFailed, errors.GenerationFailed])
def test_retrieval_responds_503_for_a_busy_provider(kind: type[errors.ProviderFailed]) -> None:
    """Retrieval: "Handle 429 from AI Gateway gracefully → return 503"; "500: … LLM timeout"."""
    for error, status in ((kind("x", is_rate_limited=True), 503), (kind("x", is_timeout=True), 500)):
        response = retrieval.handle_exception(error, {})
        assert response is not None
        assert response.status_code == status


def test_the_search_service_distinguishes_an_invalid_query_from_other_fields() -> None:
    """ "`invalid_query`: Query is empty or otherwise invalid"."""
    for field, code in (("query", "invalid_query"), ("top_k", "invalid_request")):
        response = search_service.handle_exception(errors.InvalidRequest("x", field=field), {})
        assert response is not None
        assert (response.status_code, response.data["error"]) == (400, code)
