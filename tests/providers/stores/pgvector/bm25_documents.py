"""Documents of given chunks, lexical searches in them, and a check of the statistics."""

import uuid
from collections import Counter
from collections.abc import Sequence
from typing import Any

from django.conf import settings as django_settings

from rag.models import Chunk, DataSource, Document
from rag.models.content.pgvector_tables import ChunkTerms, SourceConfig, SourceTerm
from rag.providers.stores.pgvector import bm25_index, bm25_query
from rag.providers.stores.pgvector import search as pgvector_search
from rag.providers.stores.search_types import Candidates
from rag.types import Filters, Mode, SearchScope
from ragsite.postgres.models import uuid7


def write_document(source: DataSource, texts: Sequence[str], **fields: Any) -> Document:
    """Create a document with one chunk for each text."""
    document = Document.objects.create(
        source=source, path=str(uuid7()), title="", text="", content_hash="", chunk_size=1, chunk_overlap=0,
        chunk_count=len(texts), revision=uuid7(), source_type="doc", **fields,
    )  # fmt: skip
    add_chunks(document, texts)
    return document


def add_chunks(document: Document, texts: Sequence[str]) -> None:
    positions = Chunk.objects.filter(document=document).values_list("position", flat=True)
    last_position = max(positions, default=-1)
    chunks = [
        Chunk(
            source_id=document.source_id,
            document=document,
            position=last_position + n,
            start=0,
            end=1,
            text=text,
            tokens=1,
        )
        for n, text in enumerate(texts, start=1)
    ]
    Chunk.objects.bulk_create(chunks)
    bm25_index.sync([document.pk])


def scope(*sources: DataSource, **filters: Any) -> SearchScope:
    return SearchScope(tuple(source.pk for source in sources), sources[0].embedding_model_id, Filters(**filters))


def search(question: str, within: SearchScope, k: int = 100) -> list[tuple[uuid.UUID, float]]:
    result = find(bm25_query.build_query(question, [within]), within, k)
    scores = {candidate.chunk_id: candidate.lexical_score for candidate in result.chunks}
    return [(chunk_id, scores[chunk_id]) for chunk_id in result.lexical_ids]


def find(query: bm25_query.LexicalQuery, within: SearchScope, k: int = 100) -> Candidates:
    exact_limit = django_settings.RAG_EXACT_SEARCH_MAX_CHUNKS
    return pgvector_search.find(
        within, None, query, mode=Mode.HYBRID, limit=k, exact_limit=exact_limit, chunk_count=None
    )


def check_statistics() -> None:
    """Assert that the statistics count exactly the stored terms."""
    counted = Counter({(row.source_id, row.term): row.chunks for row in SourceTerm.objects.all()})
    rows = list(ChunkTerms.objects.all())
    assert counted == Counter((row.source_id, term) for row in rows for term in row.terms)
    configs = SourceConfig.objects.exclude(chunks=0).values_list("source_id", "config", "chunks")
    assert {(source_id, config): chunks for source_id, config, chunks in configs} == Counter(
        (row.source_id, row.config) for row in rows
    )
    assert {row.chunk_id for row in rows} == set(Chunk.objects.values_list("pk", flat=True))
