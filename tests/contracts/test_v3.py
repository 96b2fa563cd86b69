"""the v3 contract over HTTP: ingest (2.1) and search (2.2)."""

import json
import os
import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import RequestFactory

from orgs.services import add_member
from rag.models import Chunk, DataSource, Document
from ragsite.wsgi import application
from tests import snapshots
from tests.factories import World, put
from tests.http import Client

Api = Callable[..., Client]
DOCUMENT = {"source": "github", "path": "/doc", "title": "Zebras", "text": "Zebras have stripes."}


def test_the_three_outcomes_and_no_extra_field(api: Api) -> None:
    """2.1: "DO NOT add extra fields to response (breaks n8n parsing)"."""
    editor = api("editor")
    created = editor.post("/api/rag/ingest", DOCUMENT)
    assert created.status == 200
    assert created.body == {"status": "created", "documentId": created.body["documentId"], "chunkCount": 1}
    again = editor.post("/api/rag/ingest", DOCUMENT)
    assert again.body == {**created.body, "status": "unchanged"}
    snapshots.matches("v3-ingest", created.body)
    changed = editor.post("/api/rag/ingest", {**DOCUMENT, "text": "Zebras have black and white stripes."})
    assert changed.body == {**created.body, "status": "updated"}
    assert Chunk.objects.get().text == "Zebras have black and white stripes."


def test_a_given_hash_decides(api: Api) -> None:
    """1: "If `hash` matches existing document, return `unchanged`"."""
    editor = api("editor")
    editor.post("/api/rag/ingest", {**DOCUMENT, "hash": "v1"})
    assert editor.post("/api/rag/ingest", {**DOCUMENT, "hash": "v1", "text": "Other."}).body["status"] == "unchanged"
    assert Document.objects.get().text == DOCUMENT["text"]
    assert editor.post("/api/rag/ingest", {**DOCUMENT, "hash": "v2"}).body["status"] == "updated"


def test_new_title_and_tags_are_saved_and_answer_unchanged(api: Api) -> None:
    """RESOLUTION: "saved without embedding again and still answers `unchanged`"."""
    editor = api("editor")
    editor.post("/api/rag/ingest", DOCUMENT)
    before = Chunk.objects.get().pk
    reply = editor.post("/api/rag/ingest", {**DOCUMENT, "title": "Animals", "tags": ["striped"], "metadata": {"a": 1}})
    assert reply.body["status"] == "unchanged"
    document = Document.objects.get()
    assert (document.title, document.tags, document.metadata) == ("Animals", ["striped"], {"a": 1})
    assert Chunk.objects.get().pk == before
    found = editor.post("/api/rag/search", {"query": "zebra", "filters": {"tags": ["striped", "spotted"]}})
    assert found.body["resultCount"] == 1


@pytest.mark.parametrize(
    ("change", "field", "message"),
    [
        ({"source": None}, "source", "source must be a string"),
        ({"source": "a b"}, "source", "source must match ^[a-zA-Z0-9_-]+$"),
        ({"source": "a\n"}, "source", "source must match ^[a-zA-Z0-9_-]+$"),
        ({"source": 5}, "source", "source must be a string"),
        ({"text": ""}, "text", "text must not be empty"),
        ({"text": " \n"}, "text", "text must not be empty"),
        ({"text": ["x"]}, "text", "text must be a string"),
        ({"title": True}, "title", "title must be a string"),
        ({"path": "x" * 2001}, "path", "path must have at most 2,000 bytes"),
        ({"tags": "x"}, "tags", "tags must be an array of strings"),
        ({"tags": [1]}, "tags", "tags must be a string"),
        ({"metadata": []}, "metadata", "metadata must be an object"),
        ({"path": "a\x00b"}, "path", "Null characters are not allowed."),
        ({"metadata": {"a": ["\x00"]}}, "metadata", "metadata must not hold NUL characters"),
    ],
)
def test_wrong_fields_are_named(api: Api, change: dict[str, Any], field: str, message: str) -> None:
    reply = api("editor").post("/api/rag/ingest", {**DOCUMENT, **change})
    assert reply.status == 400
    assert reply.body["error"] == "Validation error"
    assert (reply.body["details"]["field"], reply.body["details"]["message"]) == (field, message)
    assert not Document.objects.exists()
    assert not DataSource.objects.exists()


@pytest.mark.parametrize("missing", ["source", "path", "title", "text"])
def test_required_fields(api: Api, missing: str) -> None:
    """2.1, Response (400): the words of the example."""
    body = {name: value for name, value in DOCUMENT.items() if name != missing}
    reply = api("editor").post("/api/rag/ingest", body)
    assert reply.status == 400
    assert reply.body["details"] == {"field": missing, "message": f"{missing} is required"}


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b'"text"', b"null", b"\xff\xfe{", b'{"a": NaN}', b"[" * 100_000, b'{"text": "\\ud800"}'],
    ids=["nothing", "cut", "array", "string", "null", "bytes", "NaN", "deep", "surrogate"],
)
@pytest.mark.parametrize("path", ["/api/rag/ingest", "/api/rag/search", "/api/rag/retrieve"])
def test_malformed_bodies_are_the_clients_error(api: Api, path: str, body: bytes) -> None:
    reply = api("editor").post(path, body)
    assert reply.status == 400
    assert set(reply.body) == {"error", "message", "details"}


def test_text_too_long_to_wait_for(api: Api, settings: Any) -> None:
    settings.RAG_MAX_SYNC_TEXT_BYTES = 1000
    reply = api("editor").post("/api/rag/ingest", {**DOCUMENT, "text": "word " * 201})
    assert reply.status == 413
    assert "documents" in reply.body["message"]
    assert not DataSource.objects.exists()


def test_ten_megabytes_are_told_the_other_way_in(api: Api) -> None:
    """Far above Django's own bound on bodies, whose answer would be a bare 400."""
    reply = api("editor").post("/api/rag/ingest", {**DOCUMENT, "text": "word " * 2_000_000})
    assert (reply.status, reply.body["error"]) == (413, "Payload too large")
    assert not Document.objects.exists()
    assert not DataSource.objects.exists()


def test_oversize_body(api: Api, settings: Any) -> None:
    settings.RAG_MAX_BODY_BYTES = 1000
    reply = api("editor").post("/api/rag/ingest", {**DOCUMENT, "text": "x" * 1000})
    assert (reply.status, reply.body["error"]) == (413, "Payload too large")


def test_a_new_source_needs_the_right_to_make_one(api: Api) -> None:
    """RESOLUTION: "creates the source (if the caller may create sources; else 403)"."""
    assert api("member").post("/api/rag/ingest", DOCUMENT).status == 403
    assert not DataSource.objects.exists()


def test_a_new_source_takes_the_organisations_visibility(api: Api, live_world: World) -> None:
    live_world.home.default_visibility = "personal"
    live_world.home.save()
    api("editor").post("/api/rag/ingest", DOCUMENT)
    source = DataSource.objects.get()
    assert (source.visibility, source.owner, source.organization) == (
        "personal", live_world.users["editor"], live_world.home,
    )  # fmt: skip


def test_search_has_exactly_the_contracts_fields(api: Api, live_world: World) -> None:
    outcome = put(live_world.source(), "/zebra", "Zebras have stripes.", title="Zebras", tags=("animal",))
    reply = api("member").post("/api/rag/search", {"query": "What do zebras look like?"})
    assert reply.status == 200
    snapshots.matches("v3-search", reply.body)
    (result,) = reply.body["results"]
    score = result.pop("score")
    assert 0.3 < score <= 1
    assert reply.body == {
        "query": "What do zebras look like?",
        "resultCount": 1,
        "results": [
            {
                "text": "Zebras have stripes.",
                "metadata": {
                    "documentId": str(outcome.document_id),
                    "source": "library",
                    "path": "/zebra",
                    "title": "Zebras",
                    "chunkIndex": 0,
                    "tags": ["animal"],
                },
            }
        ],
    }


def test_search_is_sorted_bounded_and_filtered(api: Api, live_world: World) -> None:
    """1: "Return top K results sorted by score descending"; topK, minScore and both filters."""
    animals, plants = live_world.source("animals"), live_world.source("plants")
    for name in ("zebra", "lion", "horse"):
        put(animals, name, f"The {name} is an animal.", tags=(name, "animal"))
    put(plants, "oak", "The oak is a tree.", tags=("tree",))
    member = api("member")

    def paths(**options: Any) -> list[str]:
        reply = member.post("/api/rag/search", {"query": "Tell me about the zebra", **options})
        assert reply.status == 200, reply
        scores = [result["score"] for result in reply.body["results"]]
        assert scores == sorted(scores, reverse=True)
        assert reply.body["resultCount"] == len(scores)
        return [result["metadata"]["path"] for result in reply.body["results"]]

    assert paths()[0] == "zebra"
    assert len(paths()) == 4
    assert paths(topK=1) == ["zebra"]
    assert paths(filters={"source": "plants"}) == ["oak"]
    assert paths(filters={"source": "nowhere"}) == []
    assert sorted(paths(filters={"tags": ["lion", "tree"]})) == ["lion", "oak"]
    assert paths(minScore=0.99) == []


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"topK": 0}, "topK"),
        ({"topK": 21}, "topK"),
        ({"topK": "5"}, "topK"),
        ({"topK": 2.5}, "topK"),
        ({"topK": True}, "topK"),
        ({"minScore": 1.1}, "minScore"),
        ({"minScore": -0.1}, "minScore"),
        ({"minScore": "0.5"}, "minScore"),
        ({"query": ""}, "query"),
        ({"query": 7}, "query"),
        ({"query": "x" * 2001}, "query"),
        ({"filters": []}, "filters"),
        ({"filters": {"tags": "x"}}, "filters.tags"),
    ],
)
def test_search_validation(api: Api, change: dict[str, Any], field: str) -> None:
    """2.2, Validation Rules."""
    reply = api("member").post("/api/rag/search", {"query": "zebra", **change})
    assert (reply.status, reply.body["error"], reply.body["details"]["field"]) == (400, "Validation error", field)


def test_a_whole_number_may_be_written_as_5_0(api: Api, live_world: World) -> None:
    """JSON has one kind of number (docs/contracts.md)."""
    assert api("member").post("/api/rag/search", {"query": "zebra", "topK": 5.0}).status == 200
    for wrong in (b"5.5", b"1e400", b"21.0"):
        reply = api("member").post("/api/rag/search", b'{"query": "zebra", "topK": ' + wrong + b"}")
        assert (reply.status, reply.body["details"]["field"]) == (400, "topK")


def test_empty_search_is_told_that_query_is_required(api: Api) -> None:
    reply = api("member").post("/api/rag/search", {})
    assert reply.body["details"] == {"field": "query", "message": "query is required"}


def test_two_users_who_must_not_see_each_others_data(api: Api, live_world: World) -> None:
    put(live_world.source(), "/secret", "The launch code is 1234.")
    assert api("member").post("/api/rag/search", {"query": "launch code"}).body["resultCount"] == 1
    abroad = api("foreigner")
    assert abroad.post("/api/rag/search", {"query": "launch code"}).body["resultCount"] == 0
    hidden = {"query": "launch code", "filters": {"source": "library"}}
    assert abroad.post("/api/rag/search", hidden).body["resultCount"] == 0
    # The same slug abroad is another source.
    reply = abroad.post("/api/rag/ingest", {**DOCUMENT, "source": "library"})
    assert reply.body["status"] == "created"
    assert DataSource.objects.filter(slug="library").count() == 2


def test_paths_answer_with_and_without_a_slash_and_never_redirect(api: Api) -> None:
    for path in ("/api/rag/ingest", "/api/rag/ingest/"):
        assert api("editor").post(path, DOCUMENT).status == 200


@pytest.mark.parametrize("charset", ["punycode", "utf-16", "nonsense"])
def test_every_body_is_read_as_utf_8(api: Api, charset: str) -> None:
    """Python has codecs that are no text and one that takes quadratic time; a charset must not choose them."""
    odd = api().with_headers(Content_Type=f"application/json; charset={charset}")
    assert odd.post("/api/auth/token", b"-" + b"a" * 60_000).status == 400


@pytest.mark.parametrize("charset", ["zlib", "hex", "punycode"])
def test_a_charset_that_is_no_text_is_not_looked_at(charset: str) -> None:
    environ = RequestFactory().get("/healthz?a=1").environ | {"CONTENT_TYPE": f"text/plain; charset={charset}"}
    statuses: list[str] = []

    def start(status: str, headers: Any, error: Any = None) -> Any:
        statuses.append(status)

    body = application(environ, start)
    assert (statuses, b"".join(body)) == (["200 OK"], b'{"status": "ok"}')


def test_a_reader_finds_the_old_or_the_new_while_a_document_is_replaced(api: Api, live_world: World) -> None:
    """RESOLUTION: "a reader sees the old set or the new, never a mixture or nothing"."""
    source = live_world.source()
    put(source, "/zebra", "Zebras have stripes, version 0.")
    member, ended = api("member"), threading.Event()

    def replace() -> None:
        try:
            for version in range(1, 60):
                put(source, "/zebra", f"Zebras have stripes, version {version}.")
        finally:
            ended.set()
            connection.close()

    writer = threading.Thread(target=replace)
    writer.start()
    seen = []
    while not ended.is_set():
        seen.append(member.post("/api/rag/search", {"query": "zebra"}).body["resultCount"])
    writer.join()
    assert len(seen) > 5
    assert set(seen) == {1}


def test_two_organisations_need_a_choice_for_writing(api: Api, live_world: World) -> None:
    """RESOLUTION: "if that is not decidable, 400 naming the choices"."""
    add_member(user=live_world.users["editor"], organization=live_world.abroad, roles=("editor",))
    editor = api("editor")
    reply = editor.post("/api/rag/ingest", DOCUMENT)
    assert (reply.status, reply.body["details"]["field"]) == (400, "X-Organization")
    assert "abroad, home" in reply.body["message"]
    assert editor.with_headers(X_Organization="abroad").post("/api/rag/ingest", DOCUMENT).status == 200
    assert DataSource.objects.get().organization == live_world.abroad


def test_an_embedder_that_fails_leaves_no_empty_source(api: Api, settings: Any) -> None:
    settings.RAG_EMBEDDING_MODEL = "text-embedding-3-small"
    os.environ.pop("OPENAI_API_KEY", None)
    reply = api("editor").post("/api/rag/ingest", DOCUMENT)
    assert (reply.status, reply.body["error"]) == (503, "Service unavailable")
    assert reply.body["details"]["request_id"]
    assert not DataSource.objects.exists()


@pytest.mark.parametrize("depth", [30, 300, 930, 940, 990])
def test_deep_metadata_is_the_clients_error(api: Api, depth: int) -> None:
    nested = '{"a":' * depth + "1" + "}" * depth
    body = json.dumps({**DOCUMENT, "metadata": "HERE"}).replace('"HERE"', nested)
    assert api("editor").post("/api/rag/ingest", body.encode()).status == 400
    query = '{"query": "x", "filters": [{"field": ' + "[" * depth + "]" * depth + ', "value": 1}]}'
    assert api("editor").post("/api/rag/retrieve", query.encode()).status == 400
