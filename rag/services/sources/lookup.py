"""Finds the data source that a caller names, if the caller may perform the action on it."""

import contextlib
import re
from collections.abc import Collection, Iterable, Sequence
from contextlib import AbstractContextManager
from functools import reduce
from operator import or_
from uuid import UUID

from django.db.models import Count, Q, QuerySet, Window

from orgs.access import organization_resolver
from orgs.access.caller import Caller
from orgs.models import Organization
from rag.errors import InvalidRequest, NotAllowed, UnknownSource
from rag.models import Action, DataSource
from rag.models.sources import SLUG, DataSourceQuerySet
from ragsite.postgres import identity
from ragsite.postgres.models import as_uuid

_SLUG = re.compile(SLUG)
MAY_NOT_CHANGE = (
    "You may see this data source, but not change it. You need the permission sources.manage in this organisation, or "
    "to be its owner."
)
MAY_NOT_EXPLAIN = (
    "You may see this data source, but only those who manage it may see who else has access. You need the permission "
    "sources.manage in this organisation."
)
MANAGES_NOTHING = (
    "Search traces are for those who manage a data source, and you manage none. You need the permission sources.manage "
    "in your organisation, or to own a data source."
)
_SEVERAL_ORGANIZATIONS = (
    f"Several of your organisations have a source of this name: send the header {organization_resolver.HEADER}, or its "
    "id."
)


def visible_sources(caller: Caller, action: Action, *, organization: Organization | None = None) -> DataSourceQuerySet:
    """Return the sources on which the caller may perform the action, of one organisation if the request names one."""
    sources = DataSource.objects.visible_to(caller, action)
    return sources.filter(organization=organization) if organization else sources


def list_sources(
    caller: Caller,
    *,
    organization: Organization | None = None,
    organization_filter: str = "",
    search: str = "",
    visibility: str = "",
    source_type: str = "",
) -> DataSourceQuerySet:
    """Return the sources that the caller may see. Empty filters are ignored.

    Args:
        caller: The caller, whose permissions apply.
        organization: The organisation that the credential or the header names, if any.
        organization_filter: Slug or id of an organisation, from the request's `organization` parameter.
        search: A part of the name, slug or description.
        visibility: Only sources with this visibility.
        source_type: Only sources of this type.

    Raises:
        InvalidRequest: If `organization_filter` names none of the caller's organisations.
    """
    sources = visible_sources(caller, Action.VIEW, organization=organization)
    sources = sources.select_related("organization", "embedding_model", "owner")
    if organization_filter:
        sources = sources.filter(organization=resolve_organization(caller, organization_filter, field="organization"))
    if search:
        sources = sources.filter(
            Q(name__icontains=search) | Q(slug__icontains=search) | Q(description__icontains=search)
        )
    if visibility:
        sources = sources.filter(visibility=visibility)
    return sources.filter(source_type=source_type) if source_type else sources


def read_page(sources: QuerySet[DataSource], start: int, size: int) -> tuple[list[DataSource], int]:
    """Read a page of sources, and the number of all, from one list: finding out what a caller may see takes longest.

    Args:
        sources: The sources that the caller may see, in the order of the list.
        start: How many sources come before the page.
        size: The length of the page.

    Returns:
        The sources of the page, and the number of all sources.
    """
    numbered = sources.annotate(total=Window(Count("*"))).values_list("pk", "total")
    rows = list(numbered[start : start + size])
    if not rows:
        return [], sources.count() if start else 0
    with identity.hint_sources(key for key, _ in rows):
        return list(sources.filter(pk__in=[key for key, _ in rows])), rows[0][1]


def get_source(sources: DataSourceQuerySet, reference: str) -> DataSource:
    """Return the source with this id or slug among `sources`.

    Raises:
        UnknownSource: If no source has it.
        InvalidRequest: If sources of several organisations have this slug.
    """
    matches = sources.filter(organization_resolver.match_reference(reference))
    with hint_sources([reference]):
        candidates = list(matches.select_related("organization", "embedding_model")[:2])
    if not candidates:
        raise UnknownSource(reference=reference)
    if len(candidates) > 1:
        raise InvalidRequest(_SEVERAL_ORGANIZATIONS, field=organization_resolver.HEADER)
    return candidates[0]


def get_source_ids(sources: DataSourceQuerySet, references: Collection[str]) -> list[UUID]:
    """Return the ids of the sources with these ids or slugs among `sources`, in one query.

    Raises:
        UnknownSource: If no source has one of them.
        InvalidRequest: If sources of several organisations have one of the slugs.
    """
    is_named = reduce(or_, map(organization_resolver.match_reference, references))
    ids_by_reference: dict[str, list[UUID]] = {}
    with hint_sources(references):
        rows = list(sources.filter(is_named).order_by().values_list("pk", "slug"))
    for source_id, slug in rows:
        for reference in (str(source_id), slug):
            ids_by_reference.setdefault(reference, []).append(source_id)
    return [_only_id(ids_by_reference, reference) for reference in references]


def hint_sources(references: Iterable[str]) -> AbstractContextManager[None]:
    """Tell the database which sources the statements of a block read (`identity.hint_sources`), by ids and slugs."""
    keys = {reference: as_uuid(reference) for reference in references}
    slugs = [reference for reference, key in keys.items() if key is None and _SLUG.fullmatch(reference)]
    return identity.hint_sources([key for key in keys.values() if key], slugs=slugs)


def _only_id(ids_by_reference: dict[str, list[UUID]], reference: str) -> UUID:
    key = as_uuid(reference)
    matches = ids_by_reference.get(str(key) if key else reference, [])
    if not matches:
        raise UnknownSource(reference=reference)
    if len(matches) > 1:
        raise InvalidRequest(_SEVERAL_ORGANIZATIONS, field=organization_resolver.HEADER)
    return matches[0]


def get_any_source(reference: str) -> DataSource:
    """Return a source of any organisation, for management commands. It does not check permissions.

    Args:
        reference: An id, a slug, or organisation/slug.

    Raises:
        UnknownSource: If no source has it.
        InvalidRequest: If several organisations have a source with this slug.
    """
    organization_slug, _, id_or_slug = reference.rpartition("/")
    sources = DataSource.objects.filter(deleted_at=None)
    if organization_slug:
        sources = sources.filter(organization__slug=organization_slug)
    try:
        return get_source(sources, id_or_slug)
    except InvalidRequest:
        raise InvalidRequest(
            "Several organisations have a source with this slug: write organisation/slug, or its id.", field="source"
        ) from None


def get_source_to_ingest(caller: Caller, reference: str, *, organization: Organization | None = None) -> DataSource:
    """Return the source with this id or slug, if the caller may send documents to it.

    Raises:
        NotAllowed: If the caller may see the source, but not send documents to it.
        UnknownSource: If the source does not exist for the caller.
        InvalidRequest: If sources of several organisations have this slug.
    """
    message = (
        "You may query this data source, but not send documents to it. You need the permission sources.ingest in this "
        "organisation, or to be its owner."
    )
    return _get_permitted_source(caller, reference, (Action.INGEST,), organization, message)


def get_source_to_delete_from(
    caller: Caller, reference: str, *, organization: Organization | None = None
) -> DataSource:
    """Return the source with this id or slug, if the caller may delete its documents.

    Callers who may replace the documents (INGEST) or delete the whole source (MANAGE) may delete documents.

    Raises:
        NotAllowed: If the caller may see the source, but not delete its documents.
        UnknownSource: If the source does not exist for the caller.
        InvalidRequest: If sources of several organisations have this slug.
    """
    message = (
        "You may see this data source, but not delete its documents. You need the permission sources.ingest or "
        "sources.manage in this organisation, or to be its owner."
    )
    return _get_permitted_source(caller, reference, (Action.INGEST, Action.MANAGE), organization, message)


def get_source_to_manage(
    caller: Caller, reference: str, *, organization: Organization | None = None, denied_message: str = MAY_NOT_CHANGE
) -> DataSource:
    """Return the source with this id or slug, if the caller may manage it.

    Args:
        caller: The caller, whose permissions apply.
        reference: The id or slug of the source.
        organization: The organisation that the request names, if any.
        denied_message: The message of NotAllowed.

    Raises:
        NotAllowed: If the caller may see the source, but not manage it.
        UnknownSource: If the source does not exist for the caller.
        InvalidRequest: If sources of several organisations have this slug.
    """
    return _get_permitted_source(caller, reference, (Action.MANAGE,), organization, denied_message)


def _get_permitted_source(
    caller: Caller,
    reference: str,
    any_of: Sequence[Action],
    organization: Organization | None,
    denied_message: str,
) -> DataSource:
    """Return the source with this id or slug, if the caller may perform one of the actions.

    Raises:
        NotAllowed: If the caller may see the source, but perform none of the actions.
        UnknownSource: If the source does not exist for the caller.
        InvalidRequest: If sources of several organisations have this slug.
    """
    permitted = reduce(or_, (visible_sources(caller, action, organization=organization) for action in any_of))
    with contextlib.suppress(UnknownSource):
        return get_source(permitted, reference)
    # Raises UnknownSource again if the caller may not even see the source.
    get_source(visible_sources(caller, Action.VIEW, organization=organization), reference)
    try:
        return get_source(permitted, reference)  # it may have been created since the first look
    except UnknownSource:
        raise NotAllowed(denied_message) from None


def resolve_organization(caller: Caller, reference: str, *, field: str = organization_resolver.HEADER) -> Organization:
    """Return the caller's organisation with this slug or id.

    Args:
        caller: The caller, whose permissions apply.
        reference: The slug or id of the organisation.
        field: The name of the field or header of the request, for the error.

    Raises:
        InvalidRequest: If the caller has no such organisation.
    """
    try:
        return organization_resolver.get_organization(
            caller.user, reference, where=field, only=caller.only_organization
        )
    except organization_resolver.OrganizationUndecided as error:
        raise InvalidRequest(str(error), field=field) from None
