"""The data sources that the pages offer."""

from orgs.access.caller import Caller
from orgs.access.permissions import Permission
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


def may_manage_sources(caller: Caller) -> bool:
    """Return whether the visitor may open the admin's pages of data sources, and create one there."""
    user = caller.authenticated_user
    return user.is_staff and user.memberships.allowing(user, Permission.SOURCES_MANAGE).exists()


def may_trace(caller: Caller) -> bool:
    """Return whether the caller manages a data source, and so may see how it is searched."""
    return lookup.visible_sources(caller, Action.MANAGE).exists()
