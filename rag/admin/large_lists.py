"""What keeps lists of very many rows fast: counts that are remembered, and filters that read few rows."""

from typing import Any

from django.contrib import admin
from django.core.paginator import Paginator
from django.http import HttpRequest
from django.utils.functional import cached_property

from rag.services.operations import row_counts

# The values that a filter offers are those of so many of the newest rows.
_MAX_FILTER_ROWS = 1_000


class RememberingPaginator(Paginator):  # type: ignore[type-arg]  # not subscriptable at runtime
    """Pages of a list whose rows are not counted again for every request if they are very many."""

    def __init__(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._request = request

    @cached_property
    def count(self) -> int:
        """The number of rows."""
        rows: Any = self.object_list
        user: Any = self._request.user
        return row_counts.count_rows(user.pk, rows)[""]


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
