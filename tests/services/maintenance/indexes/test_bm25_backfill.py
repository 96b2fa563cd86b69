"""Chunks of a database from before there was a BM25 index are added to it."""

from typing import Any

import pytest
from django.core.cache import cache

from rag.models import Chunk, DataSource
from rag.models.content.pgvector_tables import ChunkTerms, SourceConfig, SourceTerm
from rag.pipeline.retrieval import retrieve
from rag.services.maintenance.indexes import bm25_backfill
from rag.services.sources import documents
from rag.types import Mode, Question, SearchScope
from tests.support.factories import World, ingest_text

TABLES = (ChunkTerms, SourceConfig, SourceTerm)


@pytest.fixture
def source(live_world: World) -> DataSource:
    cache.delete(bm25_backfill._COMPLETE_KEY)
    source = live_world.source()
    ingest_text(source, "a.md", "# Lions\n\n" + "Lions have manes. " * 60)
    ingest_text(source, "b.md", "Zebras have stripes.")
    return source


def found_paths(source: DataSource, text: str) -> list[str]:
    scope = SearchScope((source.pk,), source.embedding_model_id)
    retrieval = retrieve.find_passages(Question(text, top_k=10, mode=Mode.LEXICAL), [scope])
    return [passage.path for passage in retrieval.passages]


def rows() -> list[Any]:
    return [row for table in TABLES for row in table.objects.order_by("pk").values()]


def test_chunks_without_terms_are_indexed_in_batches(source: DataSource, monkeypatch: pytest.MonkeyPatch) -> None:
    before = rows()
    for table in TABLES:
        table.objects.all().delete()
    assert found_paths(source, "zebra") == []
    Chunk.objects.earliest("pk").save()  # it keeps the first id and moves to the end of the table
    monkeypatch.setattr(bm25_backfill, "_BATCH_SIZE", 1)
    bm25_backfill.maintain()
    after = rows()
    assert [row for row in after if row not in before] == [row for row in before if row not in after] == []
    assert found_paths(source, "zebra") == ["b.md"]
    assert not cache.get(bm25_backfill._COMPLETE_KEY), "only a pass that found nothing shows that the index is complete"
    bm25_backfill.maintain()
    assert cache.get(bm25_backfill._COMPLETE_KEY)


def test_deleted_documents_are_not_indexed(source: DataSource) -> None:
    documents.delete_document(source.documents.get(path="b.md"))
    ChunkTerms.objects.filter(chunk__in=Chunk.objects.filter(document__path="b.md")).delete()
    bm25_backfill.maintain()
    assert cache.get(bm25_backfill._COMPLETE_KEY)
    assert not ChunkTerms.objects.filter(document__path="b.md").exists()
