"""What keeps lists of very many rows fast: counts that are remembered, and filters that read few rows."""

import hashlib
from contextlib import suppress
from typing import Any

from django.contrib import admin
from django.core.cache import cache
from django.core.paginator import Paginator
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.utils.functional import cached_property
from redis.exceptions import RedisError

# Larger counts are remembered for a minute. Smaller ones are always exact.
_MAX_COUNTED_ROWS = 10_000
_REMEMBERED_SECONDS = 60
# The values that a filter offers are those of so many of the newest rows.
_MAX_FILTER_ROWS = 1_000


def remember_counts(request: HttpRequest, rows: QuerySet[Any], *, by: str = "") -> dict[str, int]:
    """Count the rows that a user sees.

    Args:
        request: The user's request.
        rows: The rows.
        by: The column by whose values they are counted; empty to count them together.

    Returns:
        The value, as text → the number of rows with it. Numbers of very many rows are up to a minute old.
    """
    sql, parameters = rows.query.sql_with_params()
    digest = hashlib.sha256(f"{request.user.pk} {by} {sql} {parameters}".encode()).hexdigest()
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


class RememberingPaginator(Paginator):  # type: ignore[type-arg]  # not subscriptable at runtime
    """Pages of a list whose rows are not counted again for every request if they are very many."""

    def __init__(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._request = request

    @cached_property
    def count(self) -> int:
        """The number of rows."""
        rows: Any = self.object_list
        return remember_counts(self._request, rows)[""]


class LargeListMixin:
    """The list of a model with very many rows."""

    show_full_result_count = False
    list_per_page = 50

    def get_paginator(self, request: HttpRequest, *args: Any, **kwargs: Any) -> RememberingPaginator:
        return RememberingPaginator(request, *args, **kwargs)


class NewestValuesFilter(admin.AllValuesFieldListFilter):
    """Offers the values of the newest rows, and the one that is chosen."""

    def __init__(self, field: Any, request: HttpRequest, params: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(field, request, params, *args, **kwargs)
        model_admin: Any = args[1]
        newest = model_admin.get_queryset(request).order_by("-pk").values_list(field.name, flat=True)
        values = {*newest[:_MAX_FILTER_ROWS], *(self.lookup_val or ())}
        self.lookup_choices: Any = sorted(values, key=str)
