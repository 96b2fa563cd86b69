"""Counts of rows. Counting very many takes longer than a page may, so their number is remembered for a minute."""

import hashlib
import uuid
from contextlib import suppress

from django.core.cache import cache
from django.core.exceptions import EmptyResultSet
from django.db.models import Count, Model, QuerySet
from redis.exceptions import RedisError

# Larger counts are remembered. Smaller ones are always exact.
_MAX_COUNTED_ROWS = 10_000
_REMEMBERED_SECONDS = 60


def count_rows(user_id: uuid.UUID, rows: QuerySet[Model], *, by: str = "") -> dict[str, int]:
    """Count the rows that a user sees.

    Args:
        user_id: The user.
        rows: The rows.
        by: The column by whose values they are counted; empty to count them together.

    Returns:
        The value, as text → the number of rows with it. Counts of more than _MAX_COUNTED_ROWS rows may be a minute old.
    """
    try:
        # Without computed columns: some contain the time of the request.
        sql, parameters = rows.order_by().values("pk").query.sql_with_params()
    except EmptyResultSet:  # a filter by an empty list
        return {} if by else {"": 0}
    digest = hashlib.sha256(f"{user_id} {by} {sql} {parameters}".encode()).hexdigest()
    key = f"admin-count:{digest}"
    counts: dict[str, int] | None = None
    with suppress(RedisError):
        counts = cache.get(key)
    if counts is None:
        groups = rows.order_by().values_list(by).annotate(Count("pk")) if by else [("", rows.count())]
        counts = {str(value): number for value, number in groups}
        if sum(counts.values()) > _MAX_COUNTED_ROWS:
            with suppress(RedisError):
                cache.set(key, counts, _REMEMBERED_SECONDS)
    return counts
