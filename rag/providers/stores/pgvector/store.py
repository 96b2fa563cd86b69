"""Vectors in PostgreSQL. Why the queries have this form: docs/architecture.md, "Search"."""

import json
import struct
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from django.db import DatabaseError, connection, transaction
from django.db.models import QuerySet
from pgvector import HalfVector

from rag.errors import IndexUnavailable
from rag.models import EMBEDDING_TABLES, Chunk, Document, SourceConfig
from rag.providers.base import Vectors, Version
from rag.types import ChunkDraft, Filters, Hit, Scope
from ragsite.postgres.models import uuid7

from . import token_signatures
from .copy import copy, copy_fenced
from .filters import NOT_DELETED, conditions, tagged

_EF_SEARCH = 300
# The index returns its finds only roughly in order: take more, sort, cut.
_OVER_FETCH = 100


class PgVectorStore:
    """One table per dimension. The application, not the planner, decides between exact and approximate search."""

    def __init__(self, *, dimensions: int, exact_limit: int) -> None:
        """exact_limit: scopes of at most this many chunks are compared one by one."""
        # Any: the tables' common class has no vector column, whose type holds the dimensions.
        self._model: Any = EMBEDDING_TABLES[dimensions]
        self._table = connection.ops.quote_name(self._model._meta.db_table)
        self._exact_limit = exact_limit

    def known(self, document: Document, *, model_id: uuid.UUID) -> Counter[uuid.UUID]:
        digests = self._embedded(document, model_id).values_list("digest", flat=True)
        return Counter(digest for digest in digests if digest)

    def replace(self, versions: Sequence[Version], *, model_id: uuid.UUID) -> None:
        for version in versions:
            if not version.is_new:
                kept = self._kept(version, model_id)
                self._remove_others(version.document, kept.values())
                _move(version.chunks, kept)
        if not any(version.fresh for version in versions):
            return
        ids = [[uuid7() for _ in version.fresh] for version in versions]
        placed = list(zip(versions, ids, strict=True))
        copy_fenced(Chunk._meta.db_table, _CHUNK, (row for each, keys in placed for row in _chunk_rows(each, keys)))
        rows = (row for each, keys in placed for row in _embedding_rows(each, keys, model_id))
        copy_fenced(self._model._meta.db_table, _EMBEDDING, rows)
        bits = (
            (key, each.tobytes()) for version, keys in placed for key, each in zip(keys, version.pieces, strict=False)
        )
        copy(token_signatures.TABLE, token_signatures.COLUMNS, bits)

    def _remove_others(self, document: Document, kept: Iterable[uuid.UUID]) -> None:
        stale = Chunk.objects.filter(document=document).exclude(pk__in=list(kept))
        for table in EMBEDDING_TABLES.values():  # a second model's vectors go as well
            table.objects.filter(document=document, chunk__in=stale)._raw_delete(using=connection.alias)
        stale._raw_delete(using=connection.alias)

    def _embedded(self, document: Document, model_id: uuid.UUID) -> QuerySet[Chunk]:
        """Its chunks that have a vector of the model, in their order."""
        vectors = self._model.objects.filter(document=document, model=model_id).values("chunk")
        return Chunk.objects.filter(document=document, pk__in=vectors).order_by("position")

    def _kept(self, version: Version, model_id: uuid.UUID) -> dict[int, uuid.UUID]:
        """Index of a chunk → the row that it keeps."""
        free: dict[uuid.UUID, list[uuid.UUID]] = {}
        for key, digest in self._embedded(version.document, model_id).values_list("pk", "digest"):
            if digest:
                free.setdefault(digest, []).append(key)
        fresh = set(version.fresh)
        return {index: free[digest].pop(0) for index, digest in enumerate(version.digests) if index not in fresh}

    def refresh_filters(self, document: Document) -> None:
        columns = _filter_columns(document)
        for table in EMBEDDING_TABLES.values():  # vectors of a second model may lie in another one
            table.objects.filter(document=document).exclude(**columns).update(**columns)

    def search(self, vector: Vectors, scope: Scope, k: int) -> list[Hit]:
        where, values = _conditions(scope)
        literal = HalfVector(vector).to_text()
        try:
            if (documents := tagged(scope)) is not None:
                where, values = f"{where} AND document_id = ANY((SELECT %s::uuid[])::uuid[])", [*values, documents]
            if self._is_large(scope, where, values):
                hits = self._approximate(literal, *_conditions(scope), k)
                if len(hits) == k:
                    return hits
            return self._exact(literal, where, values, k)
        except DatabaseError as error:
            raise IndexUnavailable("The search index does not answer.") from error

    def _is_large(self, scope: Scope, where: str, values: list[Any]) -> bool:
        """Whether it has more than may be compared one by one. Without filters from the statistics of its words: to
        count 20,000 rows takes as long as half a search."""
        if scope.filters == Filters():
            table = SourceConfig._meta.db_table
            counted = f"SELECT coalesce(sum(chunks), 0) FROM {table} WHERE source_id = ANY((SELECT %s::uuid[])::uuid[])"
            values = [list(scope.source_ids)]
        else:
            counted = f"SELECT count(*) FROM (SELECT 1 FROM {self._table} WHERE {where} LIMIT %s) AS counted"
            values = [*values, self._exact_limit + 1]
        with connection.cursor() as cursor:
            cursor.execute(counted, values)
            return bool(cursor.fetchone()[0] > self._exact_limit)

    def compare(self, vector: Vectors, model_id: uuid.UUID, chunk_ids: Sequence[uuid.UUID]) -> list[Hit]:
        where = "chunk_id = ANY((SELECT %s::uuid[])::uuid[]) AND model_id = %s"
        values = [list(chunk_ids), model_id]
        try:
            return self._exact(HalfVector(vector).to_text(), where, values, len(chunk_ids)) if chunk_ids else []
        except DatabaseError as error:
            raise IndexUnavailable("The search index does not answer.") from error

    def _exact(self, vector: str, where: str, values: list[Any], k: int) -> list[Hit]:
        """`+ 0` keeps the planner off the HNSW index, which would lose matches of a narrow scope."""
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT chunk_id, (embedding <=> %s::halfvec) + 0 AS distance FROM {self._table} WHERE {where} "
                "ORDER BY distance, chunk_id LIMIT %s",
                [vector, *values, k],
            )
            return [Hit(chunk_id, 1.0 - distance) for chunk_id, distance in cursor.fetchall()]

    def _approximate(self, vector: str, where: str, values: list[Any], k: int) -> list[Hit]:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(
                "SET LOCAL hnsw.iterative_scan = relaxed_order; SET LOCAL enable_sort = off; "
                "SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; "
                f"SET LOCAL hnsw.ef_search = {_EF_SEARCH}"
            )
            # `+ 0` again: PostgreSQL believes in the order that the index claims and would skip the sort.
            cursor.execute(
                f"WITH near AS MATERIALIZED (SELECT chunk_id, embedding <=> %s::halfvec AS distance FROM {self._table} "
                f"WHERE {where} ORDER BY embedding <=> %s::halfvec LIMIT %s) "
                "SELECT chunk_id, distance FROM near ORDER BY distance + 0, chunk_id LIMIT %s",
                [vector, *values, vector, max(_OVER_FETCH, 2 * k), k],
            )
            transaction.set_rollback(True)  # of what is SET: in a longer transaction it would stay
            return [Hit(chunk_id, 1.0 - distance) for chunk_id, distance in cursor.fetchall()]


# Column → its type in binary COPY. A vector travels as the bytes that pgvector itself would write.
_CHUNK = {
    "id": "uuid", "source_id": "uuid", "document_id": "uuid", "position": "int4", "start": "int4", "end": "int4",
    "text": "text", "headings": "text[]", "tokens": "int4", "first_page": "int4", "last_page": "int4", "digest": "uuid",
}  # fmt: skip
_EMBEDDING = {
    "chunk_id": "uuid", "source_id": "uuid", "document_id": "uuid", "model_id": "uuid", "source_type": "text",
    "content_type": "text", "lang": "text", "tags": "text[]", "date": "timestamptz", "embedding": "bytea",
}  # fmt: skip


def _chunk_rows(version: Version, keys: Iterable[uuid.UUID]) -> Iterator[tuple[Any, ...]]:
    document = version.document
    for key, index in zip(keys, version.fresh, strict=True):
        draft = version.chunks[index]
        place = (key, document.source_id, document.pk, draft.position, draft.start, draft.end)
        pages = draft.pages or (None, None)
        yield (*place, draft.text, list(draft.headings), draft.tokens, *pages, version.digests[index])


def _embedding_rows(version: Version, keys: Iterable[uuid.UUID], model_id: uuid.UUID) -> Iterator[tuple[Any, ...]]:
    document = version.document
    shared = (document.source_id, document.pk, model_id, *_filter_columns(document).values())
    halves = np.ascontiguousarray(version.vectors, ">f2")
    head = struct.pack(">HH", halves.shape[1], 0)
    for key, half in zip(keys, halves, strict=True):
        yield (key, *shared, head + half.tobytes())


def _move(chunks: Sequence[ChunkDraft], kept: Mapping[int, uuid.UUID]) -> None:
    """Chunks that stay, where the new version has them."""
    moved = [chunks[index] for index in kept]
    pages = [each.pages or (None, None) for each in moved]
    columns: list[Any] = [
        list(kept.values()),
        [each.position for each in moved],
        [each.start for each in moved],
        [each.end for each in moved],
        [first for first, _ in pages],
        [last for _, last in pages],
        [json.dumps(each.headings) for each in moved],
    ]
    with connection.cursor() as cursor:
        cursor.execute(
            'UPDATE rag_chunk AS old SET position = new.position, start = new.start, "end" = new.end_, '
            "first_page = new.first_page, last_page = new.last_page, headings = new.headings "
            "FROM (SELECT id, position, start, end_, first_page, last_page, "
            "ARRAY(SELECT jsonb_array_elements_text(path::jsonb)) AS headings FROM unnest(%s::uuid[], %s::int[], "
            "%s::int[], %s::int[], %s::int[], %s::int[], %s::text[]) "
            "AS row (id, position, start, end_, first_page, last_page, path)) AS new "
            "WHERE old.id = new.id AND "
            '(old.position, old.start, old."end", old.first_page, old.last_page, old.headings) IS DISTINCT FROM '
            "(new.position, new.start, new.end_, new.first_page, new.last_page, new.headings)",
            columns,
        )


def _filter_columns(document: Document) -> dict[str, Any]:
    return {
        "source_type": document.source_type,
        "content_type": document.content_type,
        "lang": document.lang,
        "tags": document.tags,
        "date": document.date,
    }


def _conditions(scope: Scope) -> tuple[str, list[Any]]:
    """SQL over an embedding table, and its values. Ids travel as one array: a long IN list costs planning time."""
    parts = ["source_id = ANY((SELECT %s::uuid[])::uuid[])", "model_id = %s", NOT_DELETED]
    values: list[Any] = [list(scope.source_ids), scope.model_id]
    for condition, value in conditions(scope.filters):
        parts.append(condition)
        values.append(value)
    return " AND ".join(parts), values
