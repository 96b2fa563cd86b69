"""Vectors in PostgreSQL. Why the queries have this form: docs/architecture.md, "Search"."""

import uuid
from collections.abc import Sequence
from typing import Any

from django.db import DatabaseError, connection, transaction
from pgvector import HalfVector

from rag.errors import IndexUnavailable
from rag.models import EMBEDDING_TABLES, Chunk, Document
from rag.providers.base import Vectors
from rag.types import ChunkDraft, Filters, Hit, Scope

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

    def remove(self, document: Document) -> None:
        for table in EMBEDDING_TABLES.values():  # the source's model may have changed since
            table.objects.filter(document=document)._raw_delete(using=connection.alias)
        Chunk.objects.filter(document=document)._raw_delete(using=connection.alias)

    def add(
        self, document: Document, *, model_id: uuid.UUID, chunks: Sequence[ChunkDraft], vectors: Vectors
    ) -> list[uuid.UUID]:
        rows = Chunk.objects.bulk_create(
            [
                Chunk(
                    source_id=document.source_id,
                    document=document,
                    position=draft.position,
                    start=draft.start,
                    end=draft.end,
                    text=draft.text,
                    headings=list(draft.headings),
                    tokens=draft.tokens,
                )
                for draft in chunks
            ],
            batch_size=500,
        )
        filters = _filter_columns(document)
        self._model.objects.bulk_create(
            [
                self._model(
                    chunk=row,
                    source_id=document.source_id,
                    document=document,
                    model_id=model_id,
                    embedding=HalfVector(vector),
                    **filters,
                )
                for row, vector in zip(rows, vectors, strict=True)
            ],
            batch_size=500,
        )
        return [row.pk for row in rows]

    def refresh_filters(self, document: Document) -> None:
        columns = _filter_columns(document)
        for table in EMBEDDING_TABLES.values():  # vectors of a second model may lie in another one
            table.objects.filter(document=document).exclude(**columns).update(**columns)

    def search(self, vector: Vectors, scope: Scope, k: int) -> list[Hit]:
        where, values = _conditions(scope)
        literal = HalfVector(vector).to_text()
        try:
            with connection.cursor() as cursor:
                counted = f"SELECT count(*) FROM (SELECT 1 FROM {self._table} WHERE {where} LIMIT %s) AS counted"
                cursor.execute(counted, [*values, self._exact_limit + 1])
                size = cursor.fetchone()[0]
                if size > self._exact_limit:
                    hits = self._approximate(literal, where, values, k)
                    if len(hits) == k:
                        return hits
                return self._exact(literal, where, values, k) if size else []
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
            return [Hit(chunk_id, 1.0 - distance) for chunk_id, distance in cursor.fetchall()]


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
    filters: Filters = scope.filters
    parts = ["source_id = ANY((SELECT %s::uuid[])::uuid[])", "model_id = %s"]
    values: list[Any] = [list(scope.source_ids), scope.model_id]
    for condition, value in (
        ("tags && %s::text[]", list(filters.tags)),
        ("source_type = ANY(%s)", list(filters.source_types)),
        ("content_type = ANY(%s)", list(filters.content_types)),
        ("lang = ANY(%s)", list(filters.langs)),
        ("date >= %s", filters.date_from),
        ("date <= %s", filters.date_to),
    ):
        if value:
            parts.append(condition)
            values.append(value)
    return " AND ".join(parts), values
