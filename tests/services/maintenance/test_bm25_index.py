"""A database that was filled before words were indexed."""

from typing import Any

import pytest
from django.core.cache import cache

from rag.models import Chunk, ChunkTerms, DataSource, SourceConfig, SourceTerm
from rag.pipeline.retrieval import retrieve
from rag.services.maintenance import bm25_index
from rag.services.sources import documents
from rag.types import Mode, Question, Scope
from tests.support.factories import World, ingest_text


@pytest.fixture
def source(live_world: World) -> DataSource:
    cache.delete(bm25_index._COMPLETE)
    source = live_world.source()
    ingest_text(source, "a.md", "# Lions\n\n" + "Lions have manes. " * 60)
    ingest_text(source, "b.md", "Zebras have stripes.")
    return source


def found(source: DataSource, text: str) -> list[str]:
    scope = Scope((source.pk,), source.embedding_model_id)
    return [each.path for each in retrieve.find(Question(text, top_k=10, mode=Mode.LEXICAL), [scope]).passages]


def rows() -> list[Any]:
    return [row for table in (ChunkTerms, SourceConfig, SourceTerm) for row in table.objects.order_by("pk").values()]


def test_chunks_without_terms_get_them_in_batches(source: DataSource, monkeypatch: pytest.MonkeyPatch) -> None:
    before = rows()
    for table in (ChunkTerms, SourceConfig, SourceTerm):
        table.objects.all().delete()
    assert found(source, "zebra") == []
    Chunk.objects.earliest("pk").save()  # as its key says the first, as its place in the table the last
    monkeypatch.setattr(bm25_index, "_BATCH", 1)
    bm25_index.tend()
    after = rows()
    assert [row for row in after if row not in before] == [row for row in before if row not in after] == []
    assert found(source, "zebra") == ["b.md"]
    assert not cache.get(bm25_index._COMPLETE), "that nothing is missing is known after a look that found nothing"
    bm25_index.tend()
    assert cache.get(bm25_index._COMPLETE)


def test_deleted_documents_are_left_alone(source: DataSource) -> None:
    documents.delete_document(source.documents.get(path="b.md"))
    ChunkTerms.objects.filter(chunk__in=Chunk.objects.filter(document__path="b.md")).delete()
    bm25_index.tend()
    assert cache.get(bm25_index._COMPLETE)
    assert not ChunkTerms.objects.filter(document__path="b.md").exists()
