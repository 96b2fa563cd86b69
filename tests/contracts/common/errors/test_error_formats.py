"""Every error has the format of the contract whose path was called (docs/contracts/errors.md)."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from pytest_django import Settings

from rag.services.queries import permitted_queries
from rag.services.sources import creation, lookup
from tests.contracts.common.errors.error_formats import NAMES, parse_error, raising
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


def test_errors_of_a_shared_path_have_the_selected_contracts_format(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lookup, "get_source_to_ingest", raising(RuntimeError()))
    job = {"dataSourceId": "a", "documents": [{"text": "a"}]}
    assert parse_error("pipeline", client.post("/api/rag/ingest", job).body)[0] == "INTERNAL_ERROR"
    assert parse_error("pipeline", client.get("/api/rag/ingest/x").body)[0] == "JOB_NOT_FOUND"
    assert parse_error("v3", client.post("/api/rag/ingest", b"{").body)[0] == "Validation error"


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


def test_unknown_paths_and_methods_have_the_error_format(api: Callable[..., Client]) -> None:
    for method, path, status in (
        ("GET", "/api/nowhere", 404),
        ("POST", "/api", 404),
        ("PUT", "/api/rag/ingest", 405),
        ("DELETE", "/api/rag/retrieve", 405),
    ):
        reply = api("member").send(method, path, b"{}")
        assert reply.status == status, path
        assert set(reply.body) == {"error", "message", "details"}
    form = api("member").with_headers(Content_Type="application/x-www-form-urlencoded").post("/api/rag/search", b"a=b")
    assert (form.status, form.body["error"]) == (415, "Unsupported media type")
