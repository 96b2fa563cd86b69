"""Deleting data sources over HTTP, and purging their rows."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection

from rag.models import Chunk, DataSource, Document, EmbeddingModel, Grant, IngestionDocument, IngestionJob
from rag.models.content.pgvector_tables import EMBEDDING_TABLES
from rag.services.sources import purge
from tests.contracts.pipeline.sources.test_sources import delete, patch
from tests.support import factories
from tests.support.factories import World, ingest_text
from tests.support.http import Client, Reply
from tests.support.servers.provider_server import ProviderServer

Api = Callable[..., Client]


def count_rows(source: DataSource) -> int:
    """The number of the source's rows in all tables."""
    tables: list[Any] = [Chunk, Document, IngestionJob, Grant, *EMBEDDING_TABLES.values()]
    count = sum(table.objects.filter(source=source.pk).count() for table in tables)
    jobs = IngestionDocument.objects.filter(job__source=source.pk).count()
    return int(count + jobs + DataSource.objects.filter(pk=source.pk).count())


def test_a_deleted_source_is_invisible_at_once_and_purged_later(
    api: Api, live_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shared rules: "Deleting a source … makes it invisible at once, whatever its size; its rows are purged …"."""
    source = live_world.source()
    owner, member = api("owner"), api("member")
    for path in ("a", "b", "c"):
        ingest_text(source, path, f"Zebras have stripes, says {path}.")
    source.grants.create(user=live_world.users["member"])
    documents = [{"path": "d", "text": "Lions."}, {"path": "e", "text": "Bears."}]
    job = owner.post("/api/rag/ingest", {"dataSourceId": "library", "documents": documents}).body["jobId"]
    factories.process_documents(ids=[IngestionDocument.objects.get(path="d").pk])
    assert member.post("/api/rag/retrieve", {"query": "zebras"}).status == 200
    other = live_world.source("other")
    ingest_text(other, "kept", "Oaks are trees.")
    rows_before = count_rows(other)

    assert delete(owner, "library").status == 204
    results = member.post("/api/rag/search", {"query": "zebras"}).body["results"]
    assert [result["metadata"]["path"] for result in results] == ["kept"]
    for reply in (
        member.post("/api/rag/retrieve", {"query": "zebras", "dataSources": ["library"]}),
        owner.get(f"/api/rag/sources/{source.pk}"),
        owner.get(f"/api/rag/ingest/{job}"),
        owner.post("/api/rag/ingest", {"dataSourceId": "library", "documents": documents}),
        patch(owner, str(source.pk), {"name": "Back"}),
    ):
        assert reply.status == 404
    assert IngestionJob.objects.get(pk=job).status == "cancelled"
    assert owner.post("/api/rag/sources", {"name": "Library"}).body["slug"] == "library", "the slug is free immediately"

    monkeypatch.setattr(purge, "_BATCH_SIZE", 2)
    purge.purge_deleted()
    assert count_rows(source) == 0
    assert count_rows(other) == rows_before


@pytest.fixture
def model_provider() -> Iterator[ProviderServer]:
    with ProviderServer(dimensions=384).running() as server:
        yield server


def test_nothing_is_ingested_into_a_source_that_is_being_deleted(
    api: Api, live_world: World, model_provider: ProviderServer
) -> None:
    """Neither by a job nor by synchronous ingestion: both are embedding while the source is deleted."""
    model = EmbeddingModel.objects.create(
        name="remote", provider="openai", dimensions=384, base_url=model_provider.base_url
    )
    source = live_world.source(embedding_model=model)
    owner, editor = api("owner"), api("editor")
    owner.post("/api/rag/ingest", {"dataSourceId": "library", "documents": [{"path": "a", "text": "Alpha."}]})
    row = IngestionDocument.objects.get()
    replies: list[Reply] = []

    def process() -> None:
        try:
            factories.process_documents(ids=[row.pk])
        finally:
            connection.close()

    document = {"source": "library", "path": "b", "title": "B", "text": "Beta."}
    threads = [
        threading.Thread(target=process),
        threading.Thread(target=lambda: replies.append(editor.post("/api/rag/ingest", document))),
    ]
    model_provider.stall.clear()
    for thread in threads:
        thread.start()
    while len(model_provider.requests) < 2:
        threads[0].join(0.01)
    assert delete(owner, "library").status == 204
    model_provider.stall.set()
    for thread in threads:
        thread.join()
    assert (replies[0].status, replies[0].body["error"]) == (404, "Not found")
    assert not Document.objects.filter(source=source).exists()
    row.refresh_from_db()
    assert (row.state, row.job.status) == ("cancelled", "cancelled")
