"""Search by vector, exact and approximate (docs/decisions/0022-exact-or-approximate.md)."""

import uuid
from collections.abc import Sequence

from django.db import connection, transaction
from pgvector import HalfVector

from rag.providers.base import Vectors
from rag.types import Filters, SearchScope

from .filter_sql import NOT_DELETED, SqlValue, documents_with_tags, sql_conditions
from .vectors import table_name

_EF_SEARCH = 300
# The index returns its results only roughly in order: fetch more, sort, cut.
_MIN_FETCHED = 100


def search(vector: Vectors, scope: SearchScope, limit: int, *, exact_limit: int) -> dict[uuid.UUID, float]:
    """Find the nearest chunks of the scope.

    The application, not the planner, chooses between exact and approximate search.

    Args:
        vector: The query's vector, float32 of shape (dimensions,), of length 1.
        scope: The scope to search.
        limit: The number of chunks. Fewer are returned only if the scope has fewer.
        exact_limit: The chunks of a scope with at most this many chunks are compared one by one.

    Returns:
        Chunk id → cosine, nearest first.
    """
    table, literal = table_name(len(vector)), HalfVector(vector).to_text()
    where, values = _where(scope)
    if (document_ids := documents_with_tags(scope)) is not None:
        where, values = f"{where} AND document_id = ANY((SELECT %s::uuid[])::uuid[])", [*values, document_ids]
    if _is_large(table, scope, where, values, exact_limit):
        nearest = _search_index(table, literal, *_where(scope), limit)
        if len(nearest) == limit:
            return nearest
    return _search_exactly(table, literal, where, values, limit)


def cosines(vector: Vectors, model_id: uuid.UUID, chunk_ids: Sequence[uuid.UUID]) -> dict[uuid.UUID, float]:
    """Return chunk id → cosine, without chunks that have no vector of the model."""
    if not chunk_ids:
        return {}
    where = "chunk_id = ANY((SELECT %s::uuid[])::uuid[]) AND model_id = %s"
    values: list[SqlValue] = [list(chunk_ids), model_id]
    return _search_exactly(table_name(len(vector)), HalfVector(vector).to_text(), where, values, len(chunk_ids))


def _is_large(table: str, scope: SearchScope, where: str, values: Sequence[SqlValue], exact_limit: int) -> bool:
    """Return whether the scope has more chunks than are compared one by one.

    Without filters the number is read from the term statistics: counting 20,000 rows takes as long as half a search.
    """
    if scope.filters == Filters():
        count = "SELECT coalesce(sum(chunks), 0) FROM rag_count_configs(%s)"
        values = [list(scope.source_ids)]
    else:
        count = f"SELECT count(*) FROM (SELECT 1 FROM {table} WHERE {where} LIMIT %s) AS counted"
        values = [*values, exact_limit + 1]
    with connection.cursor() as cursor:
        cursor.execute(count, values)
        return bool(cursor.fetchone()[0] > exact_limit)


def _search_exactly(
    table: str, vector: str, where: str, values: Sequence[SqlValue], limit: int
) -> dict[uuid.UUID, float]:
    """Compare the vector with every vector that meets the condition."""
    # `+ 0` keeps the planner from using the HNSW index, which would miss matches of a narrow scope.
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT chunk_id, (embedding <=> %s::halfvec) + 0 AS distance FROM {table} WHERE {where} "
            "ORDER BY distance, chunk_id LIMIT %s",
            [vector, *values, limit],
        )
        return {chunk_id: 1.0 - distance for chunk_id, distance in cursor.fetchall()}


def _search_index(
    table: str, vector: str, where: str, values: Sequence[SqlValue], limit: int
) -> dict[uuid.UUID, float]:
    """Search with the HNSW index, which may miss matches and returns fewer than `limit` in a narrow scope."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "SET LOCAL hnsw.iterative_scan = relaxed_order; SET LOCAL enable_sort = off; "
            "SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; "
            f"SET LOCAL hnsw.ef_search = {_EF_SEARCH}"
        )
        # `+ 0` again: PostgreSQL trusts the order that the index claims and would skip the sort.
        cursor.execute(
            f"WITH nearest AS MATERIALIZED (SELECT chunk_id, embedding <=> %s::halfvec AS distance FROM {table} "
            f"WHERE {where} ORDER BY embedding <=> %s::halfvec LIMIT %s) "
            "SELECT chunk_id, distance FROM nearest ORDER BY distance + 0, chunk_id LIMIT %s",
            [vector, *values, vector, max(_MIN_FETCHED, 2 * limit), limit],
        )
        transaction.set_rollback(
            True
        )  # undoes the SETs, which would otherwise last until the end of a longer transaction
        return {chunk_id: 1.0 - distance for chunk_id, distance in cursor.fetchall()}


def _where(scope: SearchScope) -> tuple[str, list[SqlValue]]:
    """Return an SQL condition on a table of vectors, and its values.

    Ids are sent as one array, because planning takes long for a long IN list.
    """
    parts = ["source_id = ANY((SELECT %s::uuid[])::uuid[])", "model_id = %s", NOT_DELETED]
    values: list[SqlValue] = [list(scope.source_ids), scope.model_id]
    for condition, value in sql_conditions(scope.filters):
        parts.append(condition)
        values.append(value)
    return " AND ".join(parts), values
