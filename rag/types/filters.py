"""Filters of a search: by tags, source types, content types, languages and dates of documents."""

import datetime
from dataclasses import dataclass
from typing import Literal

# The document fields that `Filters` restricts. A chunk store keeps a copy of them with each vector.
FILTER_FIELDS = ("source_type", "content_type", "lang", "tags", "date")


@dataclass(frozen=True, slots=True)
class FilterCondition:
    """One condition on a field of a document. `lookup` is a lookup of Django; "overlap" is a lookup of arrays."""

    field: str
    lookup: Literal["overlap", "in", "gte", "lte"]
    value: list[str] | datetime.datetime | None


@dataclass(frozen=True, slots=True)
class Filters:
    """Restrictions of a search on top of the caller's permissions. An empty field does not restrict.

    Attributes:
        tags: Documents that have at least one of these tags.
        date_from: Earliest date of a document, inclusive. Documents without a date do not match.
        date_to: Latest date of a document, inclusive. Documents without a date do not match.
    """

    tags: tuple[str, ...] = ()
    source_types: tuple[str, ...] = ()
    content_types: tuple[str, ...] = ()
    langs: tuple[str, ...] = ()
    date_from: datetime.datetime | None = None
    date_to: datetime.datetime | None = None

    @property
    def conditions(self) -> tuple[FilterCondition, ...]:
        """The conditions that a document must meet, all of them, as look-ups of a queryset."""
        conditions = (
            FilterCondition("tags", "overlap", list(self.tags)),
            FilterCondition("source_type", "in", list(self.source_types)),
            FilterCondition("content_type", "in", list(self.content_types)),
            FilterCondition("lang", "in", list(self.langs)),
            FilterCondition("date", "gte", self.date_from),
            FilterCondition("date", "lte", self.date_to),
        )
        return tuple(condition for condition in conditions if condition.value)


NO_FILTERS = Filters()
