"""The data sources that the pages offer."""

from orgs.access.caller import Caller
from rag.models import Action, DataSource
from rag.services.sources import lookup

MAX_LISTED_SOURCES = 200


def list_queryable_sources(caller: Caller) -> list[DataSource]:
    """Return the data sources that the caller may query, by name."""
    sources = lookup.visible_sources(caller, Action.QUERY).select_related("organization")
    return list(sources.order_by("name", "pk")[:MAX_LISTED_SOURCES])


def may_trace(caller: Caller) -> bool:
    """Return whether the caller manages a data source, and so may see how it is searched."""
    return lookup.visible_sources(caller, Action.MANAGE).exists()
