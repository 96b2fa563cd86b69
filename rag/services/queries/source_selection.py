"""Restricts a question to the sources that the caller may query, and that the request names."""

import contextlib
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from django.db import transaction

from orgs.access.caller import Caller
from orgs.models import Organization
from rag.errors import NoAccessibleSources
from rag.models import Action, DataSource
from rag.models.sources import QueryableSources
from rag.services.sources import lookup
from rag.types import Question, SearchScope

from .scopes_by_embedding_model import build_scopes


@dataclass(frozen=True, slots=True)
class SourceSelection:
    """Who searches, and in which data sources.

    Attributes:
        caller: The caller, whose permissions apply.
        organization: Only sources of this organisation, if the request names one.
        data_sources: Ids or slugs of the sources to search; empty for all. Each must be visible to the caller.
        slug_filter: Only sources with this slug; may match none.
        organization_filter: Only sources of the organisation with this id; may match none.
    """

    caller: Caller
    organization: Organization | None = None
    data_sources: Sequence[str] = ()
    slug_filter: str = ""
    organization_filter: uuid.UUID | None = None


def build_search_scopes(question: Question, selection: SourceSelection) -> list[SearchScope]:
    """Return the scopes that a question searches: what the caller may query, as far as it is selected.

    Args:
        question: The question, whose filters may exclude sources.
        selection: The caller, and the sources that the request names.

    Returns:
        One scope for each embedding model; none if a filter of the request matches no source.

    Raises:
        UnknownSource: If a named source does not exist for the caller.
        NoAccessibleSources: If the caller may query no source.
    """
    named = selection.data_sources or [selection.slug_filter]
    # Two statements that need no transaction together; with named sources there are more.
    in_transaction = transaction.atomic() if any(named) else contextlib.nullcontext()
    with in_transaction, lookup.hint_sources(named):
        scopes = build_scopes(_selected_sources(selection), question)
    # A filter may match nothing, which is not an error.
    has_filter = bool(selection.slug_filter or selection.organization_filter)
    if not scopes and not has_filter:
        raise NoAccessibleSources
    return scopes


def _selected_sources(selection: SourceSelection) -> QueryableSources:
    caller = selection.caller
    if selection.data_sources or selection.slug_filter:
        sources = lookup.visible_sources(caller, Action.QUERY, organization=selection.organization)
        if selection.data_sources:
            source_ids = lookup.get_source_ids(sources, dict.fromkeys(selection.data_sources))
            sources = sources.filter(pk__in=source_ids)
        if selection.organization_filter:
            sources = sources.filter(organization=selection.organization_filter)
        if selection.slug_filter:
            sources = sources.filter(slug=selection.slug_filter)
        return QueryableSources(frozenset(), lambda: sources)
    queryable = DataSource.objects.queryable_by(caller)
    for organization_id in (selection.organization and selection.organization.pk, selection.organization_filter):
        if organization_id:
            queryable = queryable.within(organization_id)
    return queryable
