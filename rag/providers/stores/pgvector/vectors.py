"""The vectors of chunks: one table per dimension, one row per chunk and embedding model."""

import struct
import uuid
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from django.db import connection
from django.db.models import Exists, OuterRef, QuerySet
from pgvector import HalfVector
from pgvector.django import CosineDistance

from rag.models import Chunk, Document, EmbeddingModel
from rag.models.content.pgvector_tables import EMBEDDING_TABLES
from rag.providers.base import HalfVectors, Vectors
from rag.providers.stores import chunk_rows, vector_files
from rag.providers.stores.binary_copy import copy_with_rls
from rag.providers.stores.store_writes import DocumentVersion, StoredChunk
from rag.types import FILTER_FIELDS
from ragsite.postgres.models import uuid7

from . import token_signatures

# How many chunks of a long document are written by one statement.
_MAX_WRITTEN = 10_000
# Column → its type in binary COPY. A vector is sent as the bytes of pgvector's own binary format.
_COLUMNS = {
    "chunk_id": "uuid", "source_id": "uuid", "document_id": "uuid", "model_id": "uuid", "source_type": "text",
    "content_type": "text", "lang": "text", "tags": "text[]", "date": "timestamptz", "embedding": "bytea",
}  # fmt: skip


def embedded_chunks(document: Document, model: EmbeddingModel) -> QuerySet[Chunk]:
    """Return the document's chunks that have a vector of the model, in their order."""
    vectors = EMBEDDING_TABLES[model.dimensions].objects.filter(document=document, model=model).values("chunk")
    return Chunk.objects.filter(document=document, pk__in=vectors).order_by("position")


def replace(
    versions: Sequence[DocumentVersion], model: EmbeddingModel, second_model: EmbeddingModel | None = None
) -> list[tuple[DocumentVersion, list[uuid.UUID]]]:
    """Write the chunks of each version with their vectors and signatures, and delete the document's other chunks.

    Returns:
        Each version with the ids of its new chunks, in the order of its `new_indexes`.
    """
    for version in versions:
        if not version.is_new:
            embedded = embedded_chunks(version.document, model).values_list("pk", "digest")
            kept_rows = chunk_rows.match_kept_rows(version, embedded)
            _delete_stale_chunks(version.document, kept_rows.values())
            chunk_rows.move_kept(version.chunks, kept_rows)
    versions_with_ids = [(version, [uuid7() for _ in version.new_indexes]) for version in versions]
    longest = max((len(version.new_indexes) for version in versions), default=0)
    for start in range(0, longest, _MAX_WRITTEN):
        end = start + _MAX_WRITTEN
        parts = [(version.with_new_chunks(start, end), ids[start:end]) for version, ids in versions_with_ids]
        _insert_new(parts, model, second_model)
    return versions_with_ids


def _insert_new(
    versions_with_ids: Sequence[tuple[DocumentVersion, Sequence[uuid.UUID]]],
    model: EmbeddingModel,
    second_model: EmbeddingModel | None,
) -> None:
    """Insert the new chunks of the versions with their vectors and signatures."""
    chunk_rows.insert_new(versions_with_ids)
    _insert(
        model,
        (row for version, chunk_ids in versions_with_ids for row in _rows(version, chunk_ids, model, version.vectors)),
    )
    if second_model:
        _insert(
            second_model,
            (
                row
                for version, chunk_ids in versions_with_ids
                if version.second_vectors is not None
                for row in _rows(version, chunk_ids, second_model, version.second_vectors)
            ),
        )
    token_signatures.insert(
        (chunk_id, signatures)
        for version, chunk_ids in versions_with_ids
        for chunk_id, signatures in zip(chunk_ids, version.signatures, strict=False)  # signatures may be empty
    )
    for version, _ in versions_with_ids:
        vector_files.release_memory(version.vectors)


def _delete_stale_chunks(document: Document, kept_ids: Iterable[uuid.UUID]) -> None:
    """Delete the document's chunks other than these, and first their vectors of every model, which refer to them.

    In SQL: `delete()` would load all rows. A constraint deletes the token signatures.
    """
    stale = Chunk.objects.filter(document=document).exclude(pk__in=list(kept_ids))
    for table in EMBEDDING_TABLES.values():
        table.objects.filter(document=document, chunk__in=stale)._raw_delete(using=connection.alias)
    stale._raw_delete(using=connection.alias)


def _insert(model: EmbeddingModel, rows: Iterable[tuple[object, ...]]) -> None:
    copy_with_rls(EMBEDDING_TABLES[model.dimensions]._meta.db_table, _COLUMNS, rows)


def _rows(
    version: DocumentVersion, chunk_ids: Iterable[uuid.UUID], model: EmbeddingModel, vectors: HalfVectors
) -> Iterator[tuple[object, ...]]:
    document = version.document
    shared = (document.source_id, document.pk, model.pk, *_filter_values(document).values())
    big_endian = np.ascontiguousarray(vectors, ">f2")
    header = struct.pack(">HH", big_endian.shape[1], 0)
    for chunk_id, vector in zip(chunk_ids, big_endian, strict=True):
        yield (chunk_id, *shared, header + vector.tobytes())


def _filter_values(document: Document) -> dict[str, object]:
    return {name: getattr(document, name) for name in FILTER_FIELDS}


def cosines(chunk_ids: Sequence[uuid.UUID], vector: Vectors, model_id: uuid.UUID) -> dict[uuid.UUID, float]:
    """Return chunk id → cosine of a vector and the chunk's vector of the model, without chunks that have none."""
    rows = EMBEDDING_TABLES[len(vector)].objects.filter(model=model_id, chunk__in=chunk_ids)
    distances = rows.values_list("chunk", CosineDistance("embedding", HalfVector(vector)))
    return {chunk_id: 1.0 - distance for chunk_id, distance in distances}


def update_filters(documents: Sequence[Document]) -> None:
    """Copy the fields that searches filter by from the rows of documents to their vectors of every model."""
    ids = [document.pk for document in documents]
    old, new = (", ".join(f"{row}.{name}" for name in FILTER_FIELDS) for row in ("vector", "document"))
    with connection.cursor() as cursor:
        for table in EMBEDDING_TABLES.values() if ids else ():
            cursor.execute(
                f"UPDATE {table._meta.db_table} AS vector SET ({', '.join(FILTER_FIELDS)}) = ROW({new}) "
                "FROM rag_document AS document WHERE document.id = ANY(%s) AND vector.document_id = document.id "
                f"AND ({old}) IS DISTINCT FROM ({new})",
                [ids],
            )


# --- Vectors of another model


def chunks_without_vector(source_id: uuid.UUID, model: EmbeddingModel) -> QuerySet[Chunk]:
    """Return the source's chunks that need a vector of the model.

    Chunks of deleted documents do not need one, because no search returns them.
    """
    vectors = EMBEDDING_TABLES[model.dimensions].objects.filter(chunk=OuterRef("pk"), model=model)
    return Chunk.objects.filter(~Exists(vectors), source=source_id, document__deleted_at=None)


def next_without_vector(
    source_id: uuid.UUID, model: EmbeddingModel, *, after: uuid.UUID | None, limit: int
) -> list[StoredChunk]:
    """Return the next chunks of `chunks_without_vector` after this one, in the order of their ids."""
    queryset = chunks_without_vector(source_id, model)
    if after:
        queryset = queryset.filter(pk__gt=after)
    values = queryset.order_by("pk").values_list("pk", "document_id", "text", "headings", "document__title")[:limit]
    return [
        StoredChunk(pk, document_id, text, tuple(headings), title) for pk, document_id, text, headings, title in values
    ]


def add(chunks: Sequence[StoredChunk], vectors: Vectors, documents: Sequence[Document], model: EmbeddingModel) -> int:
    """Insert the vectors of the chunks that still exist in these documents, and return their number."""
    documents_by_id = {document.pk: document for document in documents}
    existing = Chunk.objects.filter(pk__in=[chunk.id for chunk in chunks], document__in=list(documents_by_id))
    existing_ids = set(existing.values_list("pk", flat=True))
    # Any: the tables' base class has no vector column, whose type depends on the dimensions.
    table: Any = EMBEDDING_TABLES[model.dimensions]
    new_vectors = [
        table(
            chunk_id=chunk.id,
            model_id=model.pk,
            source_id=documents_by_id[chunk.document_id].source_id,
            document_id=chunk.document_id,
            embedding=HalfVector(vector),
            **_filter_values(documents_by_id[chunk.document_id]),
        )
        for chunk, vector in zip(chunks, vectors, strict=True)
        if chunk.id in existing_ids
    ]
    table.objects.bulk_create(new_vectors, ignore_conflicts=True)
    return len(new_vectors)


def delete_next(
    source_id: uuid.UUID, model: EmbeddingModel, *, after: uuid.UUID | None, limit: int
) -> uuid.UUID | None:
    """Delete the model's vectors of the source's next chunks. Return the last examined chunk; None at the end."""
    chunks = Chunk.objects.filter(source=source_id)
    if after:
        chunks = chunks.filter(pk__gt=after)
    ids: list[uuid.UUID] = list(chunks.order_by("pk").values_list("pk", flat=True)[:limit])
    if not ids:
        return None
    vectors = EMBEDDING_TABLES[model.dimensions].objects.filter(chunk__in=ids, model=model)
    vectors._raw_delete(using=vectors.db)
    return ids[-1]
