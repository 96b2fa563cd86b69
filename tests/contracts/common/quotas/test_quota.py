"""INDEX_FULL, "Storage quota exceeded": a 507, or an error of the job's document; nothing rejected is stored."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from rag.errors import IndexFull
from rag.models import Chunk, DataSource, Document, IngestionDocument, IngestionJob
from rag.services.sources import deletion
from tests.support import factories
from tests.support.factories import World, ingest_text
from tests.support.http import Client

Api = Callable[..., Client]
LONG = "Zebras have stripes. " * 300


def set_quota(world: World, max_chunks: int | None) -> None:
    world.home.max_chunks = max_chunks
    world.home.save()


def job_body(*documents: tuple[str, str]) -> dict[str, Any]:
    return {"dataSourceId": "library", "documents": [{"path": path, "text": text} for path, text in documents]}


def test_v3_responds_507(api: Api, live_world: World) -> None:
    set_quota(live_world, 1)
    editor = api("editor")
    document = {"source": "library", "path": "a", "title": "A", "text": LONG}
    reply = editor.post("/api/rag/ingest", document)
    assert (reply.status, reply.body["error"]) == (507, "Insufficient storage")
    assert reply.body["details"]["maxChunks"] == 1
    assert not DataSource.objects.exists(), "not even the new source"
    set_quota(live_world, None)
    assert editor.post("/api/rag/ingest", document).status == 200


def test_documents_may_change_while_the_quota_is_used_up(api: Api, live_world: World) -> None:
    set_quota(live_world, 1)
    editor = api("editor")
    document = {"source": "library", "path": "a", "title": "A", "text": "Short."}
    assert editor.post("/api/rag/ingest", document).status == 200
    assert editor.post("/api/rag/ingest", {**document, "text": "Short."}).body["status"] == "unchanged"
    assert editor.post("/api/rag/ingest", {**document, "text": "Other."}).body["status"] == "updated"
    assert editor.post("/api/rag/ingest", {**document, "text": LONG}).status == 507
    assert editor.post("/api/rag/ingest", {**document, "path": "b", "text": "Short."}).status == 507
    assert Document.objects.get().text == "Other."


def test_one_document_of_a_job_is_rejected_and_the_others_continue(api: Api, live_world: World) -> None:
    set_quota(live_world, 2)
    live_world.source()
    editor = api("editor")
    job = editor.post("/api/rag/ingest", job_body(("a", "Alpha."), ("b", LONG), ("c", "Gamma."))).body["jobId"]
    factories.process_documents(ids=list(IngestionDocument.objects.values_list("pk", flat=True)))
    state = editor.get(f"/api/rag/ingest/{job}").body
    assert (state["status"], state["indexed"], state["chunks"]) == ("completed", 2, 2)
    assert [(error["index"], error["path"], error["code"]) for error in state["errors"]] == [(1, "b", "INDEX_FULL")]
    assert sorted(Chunk.objects.values_list("document__path", flat=True)) == ["a", "c"]
    refused = editor.post("/api/rag/ingest", job_body(("d", "Delta.")))
    assert (refused.status, refused.body["error"]) == (507, "INDEX_FULL")
    assert IngestionJob.objects.count() == 1


def test_deleting_frees_quota_at_once_and_each_organisation_has_its_own(api: Api, live_world: World) -> None:
    source, abroad = live_world.source(), live_world.source(organization=live_world.abroad)
    for path in ("a", "b", "c"):
        ingest_text(abroad, path, "Alpha.")
    set_quota(live_world, 1)
    ingest_text(source, "a", "Alpha.")
    deletion.delete_source(source)
    live_world.source()
    assert api("editor").post("/api/rag/ingest", job_body(("b", "Beta."))).status == 202
    factories.process_documents(ids=list(IngestionDocument.objects.values_list("pk", flat=True)))
    assert IngestionJob.objects.get().status == "completed"


@pytest.mark.parametrize("round_", range(3))
def test_concurrent_writes_do_not_exceed_the_quota(live_world: World, round_: int) -> None:
    set_quota(live_world, 2)
    sources = [live_world.source(f"source-{number}") for number in range(6)]
    ready, full = threading.Barrier(len(sources)), []

    def write(source: DataSource) -> None:
        try:
            ready.wait(20)
            ingest_text(source, "a", "Alpha.")
        except IndexFull:
            full.append(source)
        finally:
            connection.close()

    threads = [threading.Thread(target=write, args=[source]) for source in sources]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (Chunk.objects.count(), len(full)) == (2, 4)
