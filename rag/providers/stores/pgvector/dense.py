"""Search by vector, exact and approximate (docs/decisions/0022-exact-or-approximate.md)."""

import uuid
from collections.abc import Sequence

from django.db import connection
from pgvector import HalfVector

from rag.providers.base import Vectors
from rag.types import SearchScope

from .filter_sql import SCOPE, SqlValue, filter_arguments, scope_values
from .vectors import table_name

# The scope and its filters, the last arguments of each function.
_ARGUMENTS = f"{SCOPE}{', %s' * 7}"


def search(
    vector: Vectors, scope: SearchScope, limit: int, *, exact_limit: int, chunk_count: int | None = None
) -> dict[uuid.UUID, float]:
    """Find the nearest chunks of the scope.

    The application, not the planner, chooses between exact and approximate search.

    Args:
        vector: The query's vector, float32 of shape (dimensions,), of length 1.
        scope: The scope to search.
        limit: The number of chunks. Fewer are returned only if the scope has fewer.
        exact_limit: The chunks of a scope with at most this many chunks are compared one by one.
        chunk_count: The number of chunks in the scope; None if it is not known.

    Returns:
        Chunk id → cosine, nearest first.
    """
    literal = HalfVector(vector).to_text()
    arguments = _arguments(scope)
    if chunk_count is None:
        chunk_count = _count(len(vector), arguments, exact_limit + 1)
    if chunk_count > exact_limit:
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


def _count(dimensions: int, arguments: Sequence[SqlValue], maximum: int) -> int:
    """Return the number of chunks in the scope, at most this number."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT rag_count_vectors(%s, %s, {_ARGUMENTS})", [dimensions, maximum, *arguments])
        return int(cursor.fetchone()[0])


def _call(
    function: str, dimensions: int, vector: str, limit: int, arguments: Sequence[SqlValue]
) -> dict[uuid.UUID, float]:
    """Search with a function of rag/migrations/sql/scopes.sql, which checks the caller's access once more."""
    query = f"SELECT chunk_id, distance FROM {function}(%s, %s, %s, {_ARGUMENTS})"
    with connection.cursor() as cursor:
        cursor.execute(query, [dimensions, vector, limit, *arguments])
        return {chunk_id: 1.0 - distance for chunk_id, distance in cursor.fetchall()}


def _arguments(scope: SearchScope) -> list[SqlValue]:
    """Return the arguments of the functions from the scope on; None for a filter that does not restrict."""
    return [*scope_values(scope), *filter_arguments(scope)]
