"""The pipeline contract, sub-contract 1: files as documents, their metadata, and how much is accepted."""

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rag.contracts.pipeline.jobs import submission_serializers
from rag.models import Document, IngestionDocument, IngestionJob, Original
from ragsite.http.bodies import parsers
from ragsite.http.bodies.parsers import MAX_FIELD_BYTES
from tests.contracts.pipeline.jobs.test_uploads import File, send
from tests.support import factories
from tests.support.factories import World
from tests.support.http import Client, Reply

Api = Callable[..., Client]


def count_files(folder: Path) -> int:
    return sum(path.is_file() for path in folder.rglob("*"))


def process_queued() -> None:
    factories.process_documents(ids=list(IngestionDocument.objects.filter(state="queued").values_list("pk", flat=True)))


def test_files_with_the_same_name_have_their_own_paths_and_metadata(api: Api, live_world: World) -> None:
    live_world.source()
    files: list[File] = [("a.md", b"# Zebras\n\nStripes.", "text/markdown"), ("a.md", b"# Lions\n\nManes.", None)]
    metadata = [
        {"path": "2024/a.md", "title": "Zebras", "tags": ["x"], "lang": "en", "uri": "https://example.org/z",
         "date": "2025-01-02T03:04Z", "metadata": {"p": 3}, "sourceType": "faq"},
        {"path": "2025/a.md"},
    ]  # fmt: skip
    reply = send(api("editor"), files, documents=json.dumps(metadata))
    assert reply.status == 202, reply
    process_queued()
    zebras, lions = Document.objects.order_by("path")
    assert (zebras.path, zebras.title, zebras.tags, zebras.lang) == ("2024/a.md", "Zebras", ["x"], "en")
    assert (zebras.uri, zebras.metadata, zebras.source_type) == ("https://example.org/z", {"p": 3}, "faq")
    assert zebras.date is not None
    assert (lions.path, lions.title, lions.source_type, lions.tags) == ("2025/a.md", "a.md", "doc", [])
    assert zebras.original is not None
    assert (zebras.original.name, zebras.original.content_type) == ("a.md", "text/markdown")


def test_unknown_attributes_of_files_are_ignored_with_a_warning(api: Api, live_world: World) -> None:
    live_world.source()
    reply = send(api("editor"), [("a.md", b"Alpha.", None)], documents='[{"Tags": ["x"]}]')
    assert json.loads(reply.headers["x-request-warnings"]) == [
        "The field documents[0].Tags is unknown and was ignored. Did you mean documents[0].tags?"
    ]
    assert reply.status == 202


@pytest.mark.parametrize(
    ("documents", "field"),
    [
        ("{", "documents"), ("[" * 100_000, "documents"), ("{}", "documents"), ("[]", "documents"),
        ("[{}]", "documents"), ("[{}, {}, {}]", "documents"), ('[{}, {"path": "a.txt"}]', "files"),
        ('[{}, {"tags": "x"}]', "documents[1].tags"), ('[{}, "x"]', "documents[1]"),
        ('[{}, {"path": 5}]', "documents[1].path"),
        ('[{}, {"uri": "javascript:x"}]', "documents[1].uri"),
        ('[{}, {"metadata": {"a": NaN}}]', "documents[1].metadata"),
    ],
)  # fmt: skip
def test_metadata_of_files_is_validated_before_anything_is_stored(
    api: Api, live_world: World, stored_files: Path, documents: str, field: str
) -> None:
    live_world.source()
    files: list[File] = [("a.txt", b"Alpha.", "text/plain"), ("b.txt", b"Beta.", "text/plain")]
    reply = send(api("editor"), files, documents=documents)
    assert (reply.status, reply.body["details"]["field"]) == (400, field), reply
    assert (count_files(stored_files), Original.objects.count()) == (0, 0)


def test_base64_becomes_an_original(api: Api, live_world: World, stored_files: Path) -> None:
    live_world.source()
    editor = api("editor")
    content = "Zebras have stripes. é".encode("utf-16")
    document = {"contentBase64": base64.b64encode(content).decode(), "contentType": "text/plain"}
    body = {"dataSourceId": "library", "documents": [document, {"path": "b", "text": "Lions."}]}
    for _ in range(2):
        assert editor.post("/api/rag/ingest", body).status == 202
        process_queued()
    zebras, lions = Document.objects.order_by("-path")
    assert (zebras.text, lions.original) == ("Zebras have stripes. é", None)
    assert zebras.original is not None
    assert zebras.path == f"sha256:{zebras.original.sha256}"
    assert set(IngestionJob.objects.first().documents.values_list("outcome", flat=True)) == {"unchanged"}  # type: ignore[union-attr]
    empty = {"dataSourceId": "library", "documents": [{"contentBase64": base64.b64encode(b" \n").decode()}]}
    assert editor.post("/api/rag/ingest", empty).body["message"] == "contentBase64 must not be empty"


def test_refused_callers_store_nothing(api: Api, live_world: World, stored_files: Path) -> None:
    """Access, the embedding model and the quota are checked before a file is stored."""
    live_world.source()
    files: list[File] = [("a.txt", b"Alpha.", "text/plain")]
    live_world.home.max_chunks = 0
    live_world.home.save()
    editor = api("editor")
    refused: dict[int, Reply] = {
        403: send(api("member"), files),
        404: send(api("foreigner"), files),
        400: send(editor, files, embeddingModel="another"),
        507: send(editor, files),
    }
    assert {status: reply.status for status, reply in refused.items()} == {status: status for status in refused}
    assert (count_files(stored_files), Original.objects.count(), IngestionJob.objects.count()) == (0, 0, 0)


def test_a_413_names_the_exceeded_limit(api: Api, live_world: World, stored_files: Path, settings: Any) -> None:
    live_world.source()
    editor = api("editor")
    settings.RAG_MAX_FILE_BYTES, settings.RAG_MAX_UPLOAD_BYTES, settings.RAG_MAX_BODY_BYTES = 5_000, 20_000, 10_000
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 10_000
    files: list[File] = [("big.txt", b"x" * 5_001, "text/plain")]
    small: list[File] = [(f"{number}.txt", b"x" * 4_000, "text/plain") for number in range(3)]
    encoded = base64.b64encode(b"x" * 5_001).decode()
    fields = [{"metadata": {"a": "x" * 10_000}}]
    replies = {
        "5,000 bytes (RAG_MAX_FILE_BYTES)": send(editor, files),
        "5,000 bytes (RAG_MAX_FILE_BYTES) ": editor.post(
            "/api/rag/ingest", {"dataSourceId": "library", "documents": [{"contentBase64": encoded}]}
        ),
        "20,000 are accepted here (the limit of forms with files)": send(
            editor, [("big.txt", b"x" * 20_000, "text/plain")]
        ),
        "10,000 are accepted here (RAG_MAX_BODY_BYTES)": editor.post("/api/rag/ingest", {"text": "x" * 10_000}),
        "10,000 are accepted here (RAG_MAX_BODY_BYTES": send(editor, small[:1], documents=json.dumps(fields)),
    }
    for words, reply in replies.items():
        assert reply.status == 413, (words, reply)
        assert words.strip() in reply.body["message"]
        assert set(reply.body) == {"error", "message", "details"}
    assert (count_files(stored_files), Original.objects.count()) == (0, 0)
    assert send(editor, small).status == 202, "together they may exceed the limit of JSON bodies"


def test_a_field_of_a_form_is_short(api: Api, live_world: World) -> None:
    """All but `documents`, which has the attributes of all files."""
    live_world.source()
    editor = api("editor")
    files: list[File] = [("a.txt", b"Alpha.", "text/plain")]
    for name in ("dataSourceId", "chunkSize", "embeddingModel", "unknown"):
        reply = send(editor, files, **{name: "é" * (MAX_FIELD_BYTES // 2) + "x"})
        assert (reply.status, reply.body["error"], reply.body["details"]["field"]) == (400, "INVALID_REQUEST", name)
        message = f"{name} has 65,537 bytes; a field that is not a file may have at most 65,536"
        assert reply.body["message"] == reply.body["details"]["message"] == message
    assert send(editor, files, unknown="x" * MAX_FIELD_BYTES).status == 202
    documents = json.dumps([{"title": "Alpha"}]) + " " * (2 * 1024 * 1024)
    assert send(editor, files, documents=documents).status == 202


def test_few_forms_with_long_fields_are_parsed_at_a_time(
    api: Api, live_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As for JSON: what was parsed needs much memory."""
    live_world.source()
    editor = api("editor")
    counts: list[int] = []

    def look(documents: object) -> None:
        counts.append(parsers.LARGE_BODIES.in_flight.total())

    monkeypatch.setattr(submission_serializers, "require_few_values", look)
    for padding in (0, 2 * 1024 * 1024):
        files: list[File] = [(f"{padding}.txt", b"Alpha.", "text/plain")]
        assert send(editor, files, documents='[{"title": "Alpha"}]' + " " * padding).status == 202
    assert (counts, parsers.LARGE_BODIES.in_flight.total()) == ([0, 1], 0)


def test_forms_to_other_paths_have_the_limit_of_every_body(api: Api, settings: Any) -> None:
    settings.RAG_MAX_UPLOAD_BYTES, settings.RAG_MAX_BODY_BYTES = 20_000, 10_000
    client = api().with_headers(Content_Type="multipart/form-data; boundary=b")
    for path in ("/admin/login/", "/api/rag/search", "/api/auth/token"):
        assert client.post(path, b"x" * 10_001).status == 413


def test_an_empty_file_is_named_and_the_others_are_accepted(api: Api, live_world: World) -> None:
    live_world.source()
    empty: list[File] = [("empty.txt", b"", "text/plain"), ("blank.md", b" \n", "application/octet-stream")]
    refused = send(api("editor"), empty)
    assert (refused.status, refused.body["message"]) == (400, "empty.txt is empty")
    job = send(api("editor"), [*empty, ("good.txt", b"Alpha.", "text/plain")]).body
    assert (job["status"], len(job["errors"])) == ("queued", 2)
    assert {(error["code"], error["message"]) for error in job["errors"]} == {("PARSE_ERROR", "The file is empty.")}
