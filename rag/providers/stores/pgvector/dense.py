"""Search by vector, exact and approximate (docs/decisions/0022-exact-or-approximate.md)."""

import uuid
from collections.abc import Sequence

from django.db import connection
from pgvector import HalfVector

from rag.providers.base import Vectors
from rag.types import Filters, SearchScope

from .filter_sql import SqlValue, filter_arguments
from .vectors import table_name


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
    literal = HalfVector(vector).to_text()
    arguments = _arguments(scope)
    if _is_large(len(vector), scope, arguments, exact_limit):
        nearest = _call("rag_nearest_by_index", len(vector), literal, limit, arguments)
        if len(nearest) == limit:
            return nearest
    return _call("rag_nearest", len(vector), literal, limit, arguments)


def cosines(vector: Vectors, model_id: uuid.UUID, chunk_ids: Sequence[uuid.UUID]) -> dict[uuid.UUID, float]:
    """Return chunk id → cosine, without chunks that have no vector of the model."""
    if not chunk_ids:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT chunk_id, embedding <=> %s::halfvec FROM {table_name(len(vector))} "
            "WHERE chunk_id = ANY((SELECT %s::uuid[])::uuid[]) AND model_id = %s",
            [HalfVector(vector).to_text(), list(chunk_ids), model_id],
        )
        return {chunk_id: 1.0 - distance for chunk_id, distance in cursor.fetchall()}


def _is_large(dimensions: int, scope: SearchScope, arguments: Sequence[SqlValue], exact_limit: int) -> bool:
    """Return whether the scope has more chunks than are compared one by one.

    Without filters the number is read from the term statistics: counting 20,000 rows takes as long as half a search.
    """
    with connection.cursor() as cursor:
        if scope.filters == Filters():
            count = "SELECT coalesce(sum(chunks), 0) FROM rag_count_configs(%s)"
            cursor.execute(count, [list(scope.source_ids)])
        else:
            values = [dimensions, exact_limit + 1, *arguments]
            cursor.execute(f"SELECT rag_count_vectors({', '.join(['%s'] * len(values))})", values)
        return bool(cursor.fetchone()[0] > exact_limit)


def _call(
    function: str, dimensions: int, vector: str, limit: int, arguments: Sequence[SqlValue]
) -> dict[uuid.UUID, float]:
    """Search with a function of rag/migrations/sql/vectors.sql, which checks the caller's access once more."""
    values = [dimensions, vector, limit, *arguments]
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT chunk_id, distance FROM {function}({', '.join(['%s'] * len(values))})", values)
        return {chunk_id: 1.0 - distance for chunk_id, distance in cursor.fetchall()}


def _arguments(scope: SearchScope) -> list[SqlValue]:
    """Return the arguments of the functions from `model` on; None for a filter that does not restrict."""
    return [scope.model_id, list(scope.source_ids), *filter_arguments(scope)]
