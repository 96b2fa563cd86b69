"""The data sources that the pages offer."""

from orgs.access.caller import Caller
from rag.models import Action, DataSource
from rag.services.sources import lookup

MAX_LISTED_SOURCES = 1000


def list_queryable_sources(caller: Caller) -> list[DataSource]:
    """Return the data sources that the caller may query, by name."""
    sources = lookup.visible_sources(caller, Action.QUERY).select_related("organization")
    return list(sources.order_by("name", "pk")[:MAX_LISTED_SOURCES])


def count_queryable_sources(caller: Caller, listed: list[DataSource]) -> int:
    """Return how many data sources the caller may query, of which these are listed."""
    if len(listed) < MAX_LISTED_SOURCES:
        return len(listed)
    return lookup.visible_sources(caller, Action.QUERY).count()


def may_trace(caller: Caller) -> bool:
    """Return whether the caller manages a data source, and so may see how it is searched."""
    return lookup.visible_sources(caller, Action.MANAGE).exists()
