"""Steps: stored chunks → vectors of another model beside those that they have; and such vectors taken away again.

Every step goes through a source by the chunks' keys, a bounded number at a time, and says where to go on.
"""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet
from pgvector import HalfVector

from rag.models import EMBEDDING_TABLES, Chunk, DataSource, Document, EmbeddingModel
from rag.pipeline.embed import embedded_text
from rag.providers import registry
from rag.providers.base import Vectors

_CLEARED = 2_000
# What searches filter by, copied onto each vector (rag.models.content.chunks.Embedding).
_COPIED = ("source_type", "content_type", "lang", "tags", "date")


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """title: its document's."""

    id: uuid.UUID
    document_id: uuid.UUID
    text: str
    headings: tuple[str, ...]
    title: str


def count(source: DataSource, model: EmbeddingModel) -> tuple[int, int]:
    """How many chunks the source has, and how many of them have no vector of the model."""
    return _chunks(source).count(), _without_vector(source, model).count()


def is_complete(source: DataSource, model: EmbeddingModel) -> bool:
    """Whether every chunk of the source has a vector of the model, as this transaction sees it."""
    return not _without_vector(source, model).exists()


def missing(source: DataSource, model: EmbeddingModel, *, after: uuid.UUID | None) -> list[StoredChunk]:
    """The next chunks without a vector of the model: as many as its embedder likes in one call."""
    found = _without_vector(source, model)
    if after:
        found = found.filter(pk__gt=after)
    rows = found.order_by("pk").values_list("pk", "document_id", "text", "headings", "document__title")
    return [
        StoredChunk(pk, document_id, text, tuple(headings), title)
        for pk, document_id, text, headings, title in rows[: registry.embedder(model).batch_size]
    ]


def embed(chunks: Sequence[StoredChunk], model: EmbeddingModel) -> Vectors:
    """What ingestion would embed for them now: float32 (len(chunks), model.dimensions). Raises EmbeddingFailed."""
    texts = [model.document_prefix + embedded_text(each.text, each.headings, each.title) for each in chunks]
    return registry.embedder(model).embed(texts)


def add(source: DataSource, model: EmbeddingModel, chunks: Sequence[StoredChunk], vectors: Vectors) -> int:
    """Write the vectors of those chunks that are still there, inside the caller's transaction, which holds the source.

    Returns how many. Documents that somebody is writing right now are left to the next pass: nobody waits for another,
    and what is copied from a document is what it says until the commit.
    """
    documents = {
        each.pk: each
        for each in Document.objects.live()
        .filter(pk__in={chunk.document_id for chunk in chunks})
        .order_by("pk")
        .select_for_update(no_key=True, skip_locked=True)
        .only("pk", *_COPIED)
    }
    wanted = Chunk.objects.filter(pk__in=[chunk.id for chunk in chunks], document__in=list(documents))
    there = set(wanted.values_list("pk", flat=True))
    table: Any = EMBEDDING_TABLES[model.dimensions]
    rows = [
        table(
            chunk_id=chunk.id,
            model_id=model.pk,
            source_id=source.pk,
            document_id=chunk.document_id,
            embedding=HalfVector(vector),
            **{name: getattr(documents[chunk.document_id], name) for name in _COPIED},
        )
        for chunk, vector in zip(chunks, vectors, strict=True)
        if chunk.id in there
    ]
    table.objects.bulk_create(rows, ignore_conflicts=True)
    return len(rows)


def clear(source_id: uuid.UUID, model: EmbeddingModel, *, after: uuid.UUID | None) -> uuid.UUID | None:
    """Remove the model's vectors of the next chunks of the source. The last chunk looked at; None at the end."""
    chunks = Chunk.objects.filter(source=source_id)
    if after:
        chunks = chunks.filter(pk__gt=after)
    ids = list(chunks.order_by("pk").values_list("pk", flat=True)[:_CLEARED])
    if not ids:
        return None
    vectors = EMBEDDING_TABLES[model.dimensions].objects.filter(chunk__in=ids, model=model)
    vectors._raw_delete(using=vectors.db)
    return ids[-1]


def _chunks(source: DataSource) -> QuerySet[Chunk]:
    """A deleted document is unfindable: its chunks wait for their removal and need no vectors."""
    return Chunk.objects.filter(source=source, document__deleted_at=None)


def _without_vector(source: DataSource, model: EmbeddingModel) -> QuerySet[Chunk]:
    vectors = EMBEDDING_TABLES[model.dimensions].objects.filter(chunk=OuterRef("pk"), model=model)
    return _chunks(source).filter(~Exists(vectors))
