"""The v3 contract, 1 (upsertDocumentWithChunks) and 2.1: POST /api/rag/ingest with one document, over HTTP."""

import hashlib
import json
import os
from collections.abc import Callable
from typing import Any

import pytest

from orgs.access.permissions import Visibility
from orgs.creation import add_member
from rag.models import Chunk, DataSource, Document, IngestionDocument
from rag.services.ingestion import synchronous_ingestion
from tests.support import factories
from tests.support.checks import snapshots
from tests.support.factories import World
from tests.support.http import Client, without_request_id

Api = Callable[..., Client]
DOCUMENT = {"source": "github", "path": "/doc", "title": "Zebras", "text": "Zebras have stripes."}


def test_the_three_outcomes_and_no_extra_field(api: Api) -> None:
    """2.1: "DO NOT add extra fields to response (breaks n8n parsing)"."""
    editor = api("editor")
    created = editor.post("/api/rag/ingest", DOCUMENT)
    assert created.status == 200
    assert created.body == {"status": "created", "documentId": created.body["documentId"], "chunkCount": 1}
    repeated = editor.post("/api/rag/ingest", DOCUMENT)
    assert repeated.body == {**created.body, "status": "unchanged"}
    snapshots.assert_matches("v3-ingest", created.body)
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


def test_a_document_chunked_differently_by_a_job_is_unchanged(api: Api, live_world: World) -> None:
    """1: "If `hash` matches existing document, return `unchanged`", whatever sizes its chunks have."""
    editor = api("editor")
    live_world.source("github")
    document = {name: DOCUMENT[name] for name in ("path", "title", "text")}
    editor.post("/api/rag/ingest", {"dataSourceId": "github", "documents": [document], "chunkSize": 64})
    factories.process_documents(ids=list(IngestionDocument.objects.values_list("pk", flat=True)))
    assert editor.post("/api/rag/ingest", DOCUMENT).body["status"] == "unchanged"
    assert editor.post("/api/rag/ingest", {**DOCUMENT, "text": "Other."}).body["status"] == "updated"
    assert Document.objects.get().chunk_size == 64


def test_without_a_hash_the_hash_of_the_text_is_used(api: Api) -> None:
    """Shared rules: "no `hash` given → SHA-256 of the text stands in"."""
    editor, text_hash = api("editor"), hashlib.sha256(DOCUMENT["text"].encode()).hexdigest()
    sent = [
        DOCUMENT,
        {**DOCUMENT, "hash": text_hash},
        DOCUMENT,
        {**DOCUMENT, "hash": "0cc175b9c0f1b6a831c399e269772661"},
    ]
    statuses = [editor.post("/api/rag/ingest", example).body["status"] for example in sent]
    assert statuses == ["created", "unchanged", "unchanged", "updated"]


def test_the_identity_is_source_and_path(api: Api) -> None:
    """Shared rules: "A document's identity is (data source, `path`)"; "v3's `source` string is that slug"."""
    editor = api("editor")
    for change in ({}, {"source": "Con-fluence_2"}, {"path": "/other"}):
        assert editor.post("/api/rag/ingest", {**DOCUMENT, **change}).body["status"] == "created"
    assert editor.post("/api/rag/ingest", {**DOCUMENT, "title": "Other", "hash": "x"}).body["status"] == "updated"
    assert sorted(DataSource.objects.values_list("slug", flat=True)) == ["Con-fluence_2", "github"]


def test_the_commands_of_the_contract(api: Api) -> None:
    """7: the three calls, for a caller with credentials, and the expected answer."""
    editor = api("editor")
    document = {"source": "test", "path": "/doc", "title": "Test", "text": "Content"}
    ingested = editor.post("/api/rag/ingest", document)
    assert ingested.body == {"status": "created", "documentId": ingested.body["documentId"], "chunkCount": 1}
    assert editor.post("/api/rag/search", {"query": "test query", "topK": 5}).body["resultCount"] == 1
    chat = {"model": "llama2", "messages": [{"role": "user", "content": "Hi"}], "useRag": True}
    assert editor.post("/api/chat", chat).body["ragUsed"] is True


def test_new_title_and_tags_are_saved_with_status_unchanged(api: Api) -> None:
    """Shared rules: "saved without embedding again and still answers `unchanged`"."""
    editor = api("editor")
    editor.post("/api/rag/ingest", DOCUMENT)
    before = Chunk.objects.get().pk
    reply = editor.post("/api/rag/ingest", {**DOCUMENT, "title": "Animals", "tags": ["striped"], "metadata": {"a": 1}})
    assert reply.body["status"] == "unchanged"
    document = Document.objects.get()
    assert (document.title, document.tags, document.metadata) == ("Animals", ["striped"], {"a": 1})
    assert Chunk.objects.get().pk == before
    search = editor.post("/api/rag/search", {"query": "zebra", "filters": {"tags": ["striped", "spotted"]}})
    assert search.body["resultCount"] == 1


@pytest.mark.parametrize(
    ("change", "field", "message"),
    [
        ({"source": None}, "source", "source must be a string"),
        ({"source": "a b"}, "source", "source must match ^[a-zA-Z0-9_-]+$ (letters, digits, -, _)"),
        ({"source": "a\n"}, "source", "source must match ^[a-zA-Z0-9_-]+$ (letters, digits, -, _)"),
        ({"source": 5}, "source", "source must be a string"),
        ({"text": ""}, "text", "text must not be empty"),
        ({"text": " \n"}, "text", "text must not be empty"),
        ({"text": ["x"]}, "text", "text must be a string"),
        ({"title": True}, "title", "title must be a string"),
        ({"path": "x" * 2001}, "path", "path must have at most 2,000 bytes"),
        ({"tags": "x"}, "tags", "tags must be an array of strings"),
        ({"tags": [1]}, "tags", "tags must be an array of strings"),
        ({"tags": [""]}, "tags", "tags must not be empty"),
        ({"metadata": []}, "metadata", "metadata must be an object"),
        ({"path": "a\x00b"}, "path", "path must not contain NUL characters"),
        ({"metadata": {"a": ["\x00"]}}, "metadata", "metadata must not contain NUL characters"),
    ],
)
def test_wrong_fields_are_named(api: Api, change: dict[str, Any], field: str, message: str) -> None:
    reply = api("editor").post("/api/rag/ingest", {**DOCUMENT, **change})
    assert reply.status == 400
    assert reply.body["error"] == "Validation error"
    assert (reply.body["details"]["field"], reply.body["details"]["message"]) == (field, message)
    assert not Document.objects.exists()
    assert not DataSource.objects.exists()


def test_metadata_may_have_32_kib_without_white_space(api: Api) -> None:
    """Most clients send none, as JavaScript's JSON.stringify."""
    numbers = {"a": [1] * 16_379 + [11]}
    assert len(json.dumps(numbers, separators=(",", ":"))) == 32 * 1024
    assert api("editor").post("/api/rag/ingest", {**DOCUMENT, "metadata": numbers}).status == 200
    numbers["a"].append(1)
    details = api("editor").post("/api/rag/ingest", {**DOCUMENT, "metadata": numbers}).body["details"]
    assert details["message"] == "metadata must have at most 32,768 bytes as JSON"


@pytest.mark.parametrize("missing", ["source", "path", "title", "text"])
def test_required_fields(api: Api, missing: str) -> None:
    """2.1, Response (400): the words of the example."""
    body = {name: value for name, value in DOCUMENT.items() if name != missing}
    reply = api("editor").post("/api/rag/ingest", body)
    assert reply.status == 400
    message = f"{missing} is required"
    assert reply.body == {
        "error": "Validation error",
        "message": message,
        # Section 5: details are "additional context".
        "details": {"field": missing, "message": message, "request_id": reply.headers["x-request-id"]},
    }


def test_all_wrong_fields_are_listed(api: Api) -> None:
    """Shared rules: "`details` … of the first invalid field; further ones under `details.errors`"."""
    details = api("editor").post("/api/rag/ingest", {"tags": "x"}).body["details"]
    assert (details["field"], details["message"]) == ("source", "source is required")
    assert [error["field"] for error in details["errors"]] == ["source", "path", "title", "text", "tags"]
    assert {frozenset(error) for error in details["errors"]} == {frozenset({"field", "message"})}


def test_text_too_long_for_synchronous_ingestion(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(synchronous_ingestion, "MAX_TEXT_BYTES", 1000)
    reply = api("editor").post("/api/rag/ingest", {**DOCUMENT, "text": "word " * 201})
    assert reply.status == 413
    assert "documents" in reply.body["message"]
    assert not DataSource.objects.exists()


def test_ten_megabytes_are_rejected_with_a_hint_to_jobs(api: Api) -> None:
    """Far above Django's default limit of bodies, which would be a 400 without explanation."""
    reply = api("editor").post("/api/rag/ingest", {**DOCUMENT, "text": "word " * 2_000_000})
    assert (reply.status, reply.body["error"]) == (413, "Payload too large")
    assert not Document.objects.exists()
    assert not DataSource.objects.exists()


def test_oversize_body(api: Api, settings: Any) -> None:
    settings.RAG_MAX_BODY_BYTES = 1000
    reply = api("editor").post("/api/rag/ingest", {**DOCUMENT, "text": "x" * 1000})
    assert (reply.status, reply.body["error"]) == (413, "Payload too large")


def test_creating_a_source_needs_permission(api: Api, live_world: World) -> None:
    """Shared rules: "creates the source (if the caller may create sources; else 403)"; hidden ones: the same text."""
    member = api("member")
    refused = member.post("/api/rag/ingest", DOCUMENT)
    assert (refused.status, refused.body["error"]) == (403, "Forbidden")
    assert not DataSource.objects.exists()
    live_world.source("secret", visibility=Visibility.PRIVATE)
    live_world.source("open")
    hidden = member.post("/api/rag/ingest", {**DOCUMENT, "source": "secret"})
    assert without_request_id(hidden.body) == without_request_id(refused.body)
    assert member.post("/api/rag/ingest", {**DOCUMENT, "source": "open"}).status == 403
    assert not Document.objects.exists()


def test_a_new_source_has_the_organisations_default_visibility(api: Api, live_world: World) -> None:
    live_world.home.default_visibility = "personal"
    live_world.home.save()
    api("editor").post("/api/rag/ingest", DOCUMENT)
    source = DataSource.objects.get()
    assert (source.visibility, source.owner, source.organization) == (
        "personal", live_world.users["editor"], live_world.home,
    )  # fmt: skip


def test_paths_work_with_and_without_a_slash_and_never_redirect(api: Api) -> None:
    for path in ("/api/rag/ingest", "/api/rag/ingest/"):
        assert api("editor").post(path, DOCUMENT).status == 200


def test_two_organisations_need_a_choice_for_writing(api: Api, live_world: World) -> None:
    """Shared rules: "if that is not decidable, 400 naming the choices"."""
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
