"""What keeps lists of very many rows fast: counts that are remembered, and filters that read few rows."""

import uuid
from dataclasses import dataclass
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.views.main import ORDER_VAR
from django.core.paginator import Page, Paginator
from django.db.models import Model, QuerySet, TextField
from django.db.models.expressions import Combinable, OrderBy
from django.http import HttpRequest
from django.utils.formats import number_format
from django.utils.functional import cached_property
from django.utils.translation import gettext

from orgs.access.caller import get_caller
from orgs.admin.bases.contains_word import ContainsWord
from orgs.admin.bases.plain_change_list import PlainChangeList
from rag.services.operations import row_counts

# Search fields of these lists end with its name.
TextField.register_lookup(ContainsWord)

# A filter offers the values of this many of the newest rows.
_MAX_FILTER_ROWS = 1_000
_MAX_SORTED_ROWS = 20_000
_MAX_MATCHES = 1_000


@dataclass(frozen=True, slots=True)
class _Matches:
    """What a search of a list has matched: the keys, the newest first, of these rows."""

    keys: list[uuid.UUID]
    rows: QuerySet[Model]

    @property
    def has_order_of_rows(self) -> bool:
        return set(self.rows.query.order_by) <= {"-id", "-pk"}


class RememberingPaginator(Paginator):  # type: ignore[type-arg]  # not subscriptable at runtime
    """Pages of a list. The number of rows is remembered if there are very many, and not counted for every request.

    Of the matches of a search, which are known already, only those of the page are read.
    """

    def __init__(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._request = request
        self._matches: _Matches | None = request.__dict__.get("_matches")

    def page(self, number: int | str) -> "Page[Model]":
        page = super().page(number)
        if self._matches and self._matches.has_order_of_rows:
            start = (page.number - 1) * self.per_page
            shown = self._matches.keys[start : start + self.per_page]
            page.object_list = self._matches.rows.filter(pk__in=shown)
        return page

    @cached_property
    def count(self) -> int:
        """The number of rows."""
        if self._matches:
            return len(self._matches.keys)
        rows = self.object_list
        assert isinstance(rows, QuerySet)
        user = get_caller(self._request).authenticated_user
        return row_counts.count_rows(user.pk, rows)[""]  # all rows together


class LargeChangeList(PlainChangeList):
    """Does not sort very many rows to show a page of them: a filter makes them few enough."""

    def get_ordering(self, request: HttpRequest, queryset: QuerySet[Model]) -> list[str | OrderBy | Combinable]:
        user = get_caller(request).authenticated_user
        if ORDER_VAR in self.params and row_counts.count_rows(user.pk, queryset)[""] > _MAX_SORTED_ROWS:
            self.params = {name: value for name, value in self.params.items() if name != ORDER_VAR}
            text = gettext("More than {number} rows are not sorted. Choose a filter first.")
            messages.info(request, text.format(number=_MAX_SORTED_ROWS))
        return list(super().get_ordering(request, queryset))


class LargeListMixin:
    """The list of a model with very many rows."""

    show_full_result_count = False
    list_per_page = 50

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Model], search_term: str
    ) -> tuple[QuerySet[Model], bool]:
        """Find the newest matches. No index finds parts of words: rows are read once, and not again to count."""
        base: Any = super()
        matches, has_duplicates = base.get_search_results(request, queryset, search_term)
        if not search_term:
            return matches, has_duplicates
        parts = (part.order_by("-pk").values_list("pk", flat=True) for part in self.search_parts(matches))
        first, *others = (part[:_MAX_MATCHES] for part in parts)
        keys = list(first.union(*others, all=True).order_by("-pk")[:_MAX_MATCHES] if others else first)
        if len(keys) == _MAX_MATCHES:
            text = gettext("Only the newest {number} matches are shown. Search for more words, or choose a filter.")
            messages.info(request, text.format(number=number_format(_MAX_MATCHES, force_grouping=True)))
        request.__dict__["_matches"] = _Matches(keys, queryset)
        return queryset.filter(pk__in=keys), False

    def search_parts(self, matches: QuerySet[Model]) -> list[QuerySet[Model]]:
        """Divide the matches of a search, so that each part can be read from an index of its own."""
        return [matches]

    def get_changelist(self, request: HttpRequest, **kwargs: object) -> type[LargeChangeList]:
        return LargeChangeList

    def get_paginator(self, request: HttpRequest, *args: object, **kwargs: object) -> RememberingPaginator:
        return RememberingPaginator(request, *args, **kwargs)


class NewestValuesFilter(admin.AllValuesFieldListFilter):
    """Offers the values of the newest rows, and the one that is chosen."""

    def __init__(self, field: Any, request: HttpRequest, params: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(field, request, params, *args, **kwargs)
        model_admin: Any = args[1]
        newest = model_admin.get_queryset(request).order_by("-pk").values_list(field.name, flat=True)
        values = {*newest[:_MAX_FILTER_ROWS], *(self.lookup_val or ())}
        self.lookup_choices: Any = sorted(values, key=str)
