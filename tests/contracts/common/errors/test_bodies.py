"""Bodies that are not JSON, too deeply nested or in an unusual charset are client errors in every contract."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import RequestFactory

from ragsite.wsgi import application
from tests.support.factories import World
from tests.support.http import Client

Api = Callable[..., Client]
FILTER_VALUE = "filters[0].value"
DOCUMENT = {"source": "github", "path": "/doc", "title": "Zebras", "text": "Zebras have stripes."}


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b'"text"', b"null", b"\xff\xfe{", b'{"a": NaN}', b"[" * 100_000, b'{"text": "\\ud800"}'],
    ids=["nothing", "cut", "array", "string", "null", "bytes", "NaN", "deep", "surrogate"],
)
@pytest.mark.parametrize("path", ["/api/rag/ingest", "/api/rag/search", "/api/rag/retrieve"])
def test_malformed_bodies_are_client_errors(api: Api, path: str, body: bytes) -> None:
    reply = api("editor").post(path, body)
    assert reply.status == 400
    assert set(reply.body) == {"error", "message", "details"}
    details = reply.body["details"]
    assert details["field"]
    assert details["message"] == reply.body["message"], "v3, 2.1: details of a 400 are a field and a message"


def test_a_number_of_too_many_digits_is_named(api: Api) -> None:
    """Python's message names a function of Python."""
    message = api("editor").post("/api/rag/search", b'{"query": "x", "topK": ' + b"9" * 5_000 + b"}").body["message"]
    assert message == "The body is not valid JSON: it has a number of too many digits"


def test_the_first_byte_that_is_not_utf_8_is_named(api: Api) -> None:
    message = api("editor").post("/api/rag/search", b'{"query": "\xfc"}').body["message"]
    assert message == "The body is not valid JSON: its byte 12 is not UTF-8. Encode the body as UTF-8."


def test_errors_of_method_and_content_type_say_what_to_send(api: Api) -> None:
    editor = api("editor")
    assert editor.get("/api/rag/search").body["message"] == 'Method "GET" not allowed. Use POST.'
    reply = editor.send("PUT", "/api/rag/sources/library", b"{}")
    assert reply.body["message"] == 'Method "PUT" not allowed. Use GET or PATCH or DELETE.'
    untyped = editor.with_headers(Content_Type="").send("POST", "/api/rag/search", b"{}")
    assert untyped.body["message"].startswith("The request does not say what its body is. Send the body as JSON")


def test_all_wrong_documents_of_a_job_are_listed(api: Api, live_world: World) -> None:
    """Who sends many documents corrects them together. A response lists at most 20 errors."""
    live_world.source()
    documents: list[dict[str, Any]] = [
        {"path": "a"},
        {"path": "b", "text": "Zebras."},
        {"text": 5},
        *({} for _ in range(100)),
    ]
    reply = api("editor").post("/api/rag/ingest", {"dataSourceId": "library", "documents": documents})
    errors = reply.body["details"]["errors"]
    assert [error["field"] for error in errors[:3]] == [
        "documents[0].text", "documents[2].text", "documents[3].text",
    ]  # fmt: skip
    assert len(errors) == 20


@pytest.mark.parametrize(
    ("path", "body", "field", "message"),
    [
        ("search", {"query": "x\0"}, "query", "query must not contain NUL characters"),
        ("search", {"query": "\udc00"}, "query", "query must not contain unpaired surrogates"),
        ("search", {"query": "x", "filters": 5}, "filters", "filters must be an object"),
        ("search", {"query": "x", "filters": None}, "filters", "filters must not be null"),
        ("retrieve", {"query": "x", "filters": ["tags"]}, "filters[0]", "filters[0] must be an object"),
        ("retrieve", {"query": "x", "filters": [{"field": "tags"}]}, FILTER_VALUE, f"{FILTER_VALUE} is required"),
        ("retrieve", {"query": "x", "dataSources": [5]}, "dataSources[0]", "each of dataSources must be a string"),
    ],
)
def test_messages_name_the_field_in_words_of_json(
    api: Api, path: str, body: dict[str, Any], field: str, message: str
) -> None:
    """DRF's own messages name no field, and speak of Python's types ("Expected a dictionary, but got int")."""
    reply = api("editor").post(f"/api/rag/{path}", body)
    assert (reply.status, reply.body["message"]) == (400, message)
    assert (reply.body["details"]["field"], reply.body["details"]["message"]) == (field, message)


def test_the_filters_of_chat_are_not_named_like_those_of_search(api: Api) -> None:
    body = {"messages": [{"role": "user", "content": "x"}], "ragFilters": {"source": 5}}
    details = api("editor").post("/api/chat", body).body["details"]
    assert (details["field"], details["message"]) == ("ragFilters.source", "source must be a string")


@pytest.mark.parametrize("charset", ["punycode", "utf-16", "nonsense"])
def test_every_body_is_read_as_utf_8(api: Api, charset: str) -> None:
    """A charset must not select Python codecs that are not text encodings or take quadratic time."""
    odd = api().with_headers(Content_Type=f"application/json; charset={charset}")
    assert odd.post("/api/auth/token", b"-" + b"a" * 60_000).status == 400


@pytest.mark.parametrize("charset", ["zlib", "hex", "punycode"])
def test_a_charset_that_is_not_a_text_encoding_is_ignored(charset: str) -> None:
    environ = RequestFactory().get("/healthz?a=1").environ | {"CONTENT_TYPE": f"text/plain; charset={charset}"}
    statuses: list[str] = []

    def start(status: str, headers: Any, error: Any = None) -> Any:
        statuses.append(status)

    body = application(environ, start)
    assert (statuses, b"".join(body)) == (["200 OK"], b'{"status": "ok"}')


@pytest.mark.parametrize("depth", [30, 300, 930, 940, 990])
def test_deep_metadata_is_a_client_error(api: Api, depth: int) -> None:
    nested = '{"a":' * depth + "1" + "}" * depth
    body = json.dumps({**DOCUMENT, "metadata": "HERE"}).replace('"HERE"', nested)
    assert api("editor").post("/api/rag/ingest", body.encode()).status == 400
    query = '{"query": "x", "filters": [{"field": ' + "[" * depth + "]" * depth + ', "value": 1}]}'
    assert api("editor").post("/api/rag/retrieve", query.encode()).status == 400
