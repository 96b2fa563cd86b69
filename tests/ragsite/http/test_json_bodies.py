"""JSON bodies in the real web server: chunked, compressed, or with a byte-order mark."""

import gzip
import http.client
import json
from collections.abc import Iterator
from typing import Any

import pytest

from rag.models import DataSource
from tests.support.factories import PASSWORD, World, ingest_text
from tests.support.web import Web

V3, RETRIEVAL, AGENT = {"error", "message", "details"}, {"status", "error", "message", "details"}, {"error"}
# Path, valid body, keys of an error.
REQUESTS: tuple[tuple[str, dict[str, Any], set[str]], ...] = (
    ("/api/auth/token", {"email": "editor@home.example", "password": PASSWORD}, V3),
    ("/api/rag/ingest", {"source": "library", "path": "a", "title": "A", "text": "Zebras have stripes."}, V3),
    ("/api/rag/ingest", {"dataSourceId": "library", "documents": [{"path": "b", "text": "Okapis."}]}, V3),
    ("/api/rag/search", {"query": "zebras"}, V3),
    ("/api/rag/search", {"query_text": "zebras"}, V3),
    ("/functions/v1/rag-search", {"query_text": "zebras"}, RETRIEVAL),
    ("/api/rag/answer", {"query_text": "zebras"}, RETRIEVAL),
    ("/api/rag/sources", {"name": "New"}, V3),
    ("/api/rag/retrieve", {"query": "zebras"}, V3),
    ("/api/rag/query", {"query": "What do zebras have?"}, V3),
    ("/agent/respond", {"query": "What do zebras have?"}, AGENT),
    ("/api/v1/search", {"query": "zebras"}, V3),
)


def chunks(body: bytes, size: int = 7) -> Iterator[bytes]:
    for start in range(0, len(body), size):
        yield body[start : start + size]


def post(web: Web, key: str, path: str, body: Any, **headers: str) -> tuple[int, Any]:
    """Send a request: chunked if the body is an iterator. http.client frames the chunks."""
    client = http.client.HTTPConnection("127.0.0.1", web.port, timeout=60)
    try:
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        credential = {} if path.startswith("/api/auth") else {"X-API-Key": key}
        client.request("POST", path, body, {"Content-Type": "application/json", **credential, **names})
        response = client.getresponse()
        return response.status, json.loads(response.read())
    finally:
        client.close()


@pytest.fixture
def key(live_world: World) -> str:
    ingest_text(live_world.source(), "z", "Zebras have stripes.")
    return live_world.key("editor").secret


def test_chunked_json_is_read_by_every_contract(web: Web, key: str) -> None:
    for path, body, _ in REQUESTS:
        status, reply = post(web, key, path, chunks(json.dumps(body).encode()))
        assert status in (200, 201, 202), (path, body, reply)
    assert DataSource.objects.filter(slug="new").exists()
    status, reply = post(web, key, "/api/rag/search", iter(()))
    assert (status, reply["details"]["field"]) == (400, "query"), "an empty chunked body is an empty body"
    status, reply = post(web, key, "/api/rag/search", chunks(b'{"query": '))
    assert (status, "not valid JSON" in reply["message"]) == (400, True)


def test_chunked_json_has_the_same_limits_as_json_with_a_length(web: Web, key: str) -> None:
    too_long = b'{"query": "' + b"z" * (33 * 1024 * 1024)
    for path, _, keys in REQUESTS[1:]:
        status, reply = post(web, key, path, chunks(too_long, 1024 * 1024))
        assert (status, set(reply)) == (413, keys), (path, reply)
        message = reply["error"]["message"] if keys == AGENT else reply["message"]
        assert "RAG_MAX_BODY_BYTES" in message
    status, reply = post(web, key, "/api/auth/token", chunks(b'{"email": "' + b"z" * 70_000, 8192))
    assert (status, set(reply)) == (413, V3), "credentials are short"


def test_a_compressed_body_is_refused(web: Web, key: str) -> None:
    for path, body, keys in REQUESTS:
        for compressed in (gzip.compress(json.dumps(body).encode()), chunks(gzip.compress(json.dumps(body).encode()))):
            status, reply = post(web, key, path, compressed, Content_Encoding="gzip")
            assert (status, set(reply)) == (415, keys), (path, reply)
            message = reply["error"]["message"] if keys == AGENT else reply["message"]
            assert "compressed" in message
    form = "multipart/form-data; boundary=b"
    assert post(web, key, "/api/rag/ingest", b"--b--", Content_Type=form, Content_Encoding="br")[0] == 415
    plain = post(web, key, "/api/rag/search", b'{"query": "zebras"}', Content_Encoding="identity")
    assert plain[0] == 200


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_a_byte_order_mark_is_reported(web: Web, key: str, encoding: str) -> None:
    for path, body, keys in REQUESTS:
        for sent in (json.dumps(body).encode(encoding), chunks(json.dumps(body).encode(encoding))):
            status, reply = post(web, key, path, sent)
            assert (status, set(reply)) == (400, keys), (path, reply)
            message = reply["error"]["message"] if keys == AGENT else reply["message"]
            assert "byte-order mark" in message
