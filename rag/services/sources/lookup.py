"""Data sources: finding one, making one."""

from collections.abc import Sequence
from functools import reduce
from operator import or_

from django.db import IntegrityError
from django.db.models import Q

from orgs import organization_resolver
from orgs.access.caller import Caller
from orgs.access.effective_permissions import effective_permissions
from orgs.access.permissions import Permission
from orgs.models import Organization
from rag.errors import InvalidRequest, NotAllowed, UnknownSource
from rag.models import Action, DataSource, EmbeddingModel
from rag.models.sources import DataSourceQuerySet
from ragsite.postgres import identity

MAY_NOT_CHANGE = "You may see this data source, but not change it."
MAY_NOT_EXPLAIN = "You may see this data source; who else may is for those who manage it."
MANAGES_NOTHING = "You manage no data source; how searches come about is for those who do."
_MAY_NOT_MAKE = "This data source does not exist for you, and you may not create one."
_NARROW_KEY = "This API key is restricted to certain data sources, and may not create one."


def visible_sources(caller: Caller, action: Action, *, organization: Organization | None = None) -> DataSourceQuerySet:
    """The sources of a caller, in one organisation where the request names one."""
    sources = DataSource.objects.visible_to(caller, action)
    return sources.filter(organization=organization) if organization else sources


def list_sources(
    caller: Caller,
    *,
    organization: Organization | None = None,
    also_in: str = "",
    search: str = "",
    visibility: str = "",
    source_type: str = "",
) -> DataSourceQuerySet:
    """The sources that exist for a caller, narrowed by what is not empty.

    also_in: an organisation's slug or id, as a parameter of the request. search: a part of a name, slug or description.
    """
    found = visible_sources(caller, Action.VIEW, organization=organization).select_related(
        "organization", "embedding_model"
    )
    if also_in:
        found = found.filter(organization=resolve_organization(caller, also_in, field="organization"))
    if search:
        found = found.filter(Q(name__icontains=search) | Q(slug__icontains=search) | Q(description__icontains=search))
    if visibility:
        found = found.filter(visibility=visibility)
    return found.filter(source_type=source_type) if source_type else found


def get_source(sources: DataSourceQuerySet, reference: str) -> DataSource:
    """The source with this id or slug among `sources`.

    Raises UnknownSource, and InvalidRequest if the slug stands for sources in several organisations.
    """
    found = list(
        sources.filter(organization_resolver.by_reference(reference)).select_related("organization", "embedding_model")[
            :2
        ]
    )
    if not found:
        raise UnknownSource(reference=reference)
    if len(found) > 1:
        raise InvalidRequest(
            "Several of your organisations have a source of this name: "
            f"send the header {organization_resolver.HEADER}, or its id.",
            field=organization_resolver.HEADER,
        )
    return found[0]


def get_any_source(reference: str) -> DataSource:
    """For whoever runs commands on the server: the source of this id, slug, or organisation/slug.

    Raises UnknownSource, and InvalidRequest if the slug stands for several.
    """
    home, _, name = reference.rpartition("/")
    found = DataSource.objects.filter(deleted_at=None)
    if home:
        found = found.filter(organization__slug=home)
    try:
        return get_source(found, name)
    except InvalidRequest:
        raise InvalidRequest(
            "Several organisations have it: write organisation/slug, or its id.", field="source"
        ) from None


def get_source_to_ingest(caller: Caller, reference: str, *, organization: Organization | None = None) -> DataSource:
    """The source that the user may send documents to. Raises NotAllowed if they may only see it, else UnknownSource."""
    refusal = "You may query this data source, but not send documents to it."
    return _allowed(caller, reference, (Action.INGEST,), organization, refusal)


def get_source_to_delete_from(
    caller: Caller, reference: str, *, organization: Organization | None = None
) -> DataSource:
    """The source whose documents the user may delete: whoever may replace them, and whoever may delete it whole.

    Raises NotAllowed if they may only see it, else UnknownSource.
    """
    refusal = "You may see this data source, but not delete its documents."
    return _allowed(caller, reference, (Action.INGEST, Action.MANAGE), organization, refusal)


def get_or_build_source(caller: Caller, slug: str, *, organization: Organization | None = None) -> DataSource:
    """v3's `source`: the one of this slug in the organisation that is written to; else a new one, not saved yet.

    Raises NotAllowed if the user may neither use nor make it, InvalidRequest if the organisation is not decidable.
    """
    home = resolve_target_organization(caller, organization=organization)
    try:
        return get_source_to_ingest(caller, slug, organization=home)
    except UnknownSource:
        pass
    require_create_permission(caller, home, refusal=_MAY_NOT_MAKE)
    with identity.run_as(identity.WORKER):  # also by a source that does not exist for this user
        taken = DataSource.objects.filter(organization=home, slug=slug, deleted_at=None).exists()
    if taken:
        raise NotAllowed(_MAY_NOT_MAKE)
    return DataSource(
        organization=home,
        slug=slug,
        name=slug,
        visibility=home.default_visibility,
        owner=caller.authenticated_user,
        embedding_model=EmbeddingModel.objects.default(),
    )


def save_if_new(source: DataSource) -> DataSource:
    """The source itself, or, if it was new, its row: whoever was first to send a document to this slug made it."""
    if not source._state.adding:
        return source
    wanted = {"name": source.name, "visibility": source.visibility, "owner": source.owner}
    try:
        row, made = DataSource.objects.get_or_create(
            organization=source.organization,
            slug=source.slug,
            deleted_at=None,
            defaults={**wanted, "embedding_model": source.embedding_model},
        )
    except IntegrityError:  # somebody else's, which does not exist for this user
        raise NotAllowed(_MAY_NOT_MAKE) from None
    if (
        not made
        and source.owner
        and not visible_sources(Caller(source.owner), Action.INGEST).filter(pk=row.pk).exists()
    ):
        raise NotAllowed(_MAY_NOT_MAKE)
    return row


def resolve_target_organization(caller: Caller, *, organization: Organization | None = None) -> Organization:
    """Where new things of this user go: the named organisation, else their only one.

    Raises InvalidRequest where there are several, NotAllowed where there is none.
    """
    if organization:
        return organization
    try:
        return organization_resolver.only_organization(caller.user)
    except organization_resolver.NoOrganization as error:
        raise NotAllowed(str(error)) from None
    except organization_resolver.OrganizationUndecided as error:
        raise InvalidRequest(str(error), field=organization_resolver.HEADER) from None


def get_source_to_manage(
    caller: Caller, reference: str, *, organization: Organization | None = None, refusal: str = MAY_NOT_CHANGE
) -> DataSource:
    """The source that the user may change. Raises NotAllowed if they may only see it, else UnknownSource."""
    return _allowed(caller, reference, (Action.MANAGE,), organization, refusal)


def _allowed(
    caller: Caller, reference: str, actions: Sequence[Action], organization: Organization | None, refusal: str
) -> DataSource:
    """actions: any of them will do. What is not there for the user stays UnknownSource; what they may only see is
    NotAllowed, with the refusal."""
    allowed = reduce(or_, (visible_sources(caller, action, organization=organization) for action in actions))
    try:
        return get_source(allowed, reference)
    except UnknownSource:
        get_source(visible_sources(caller, Action.VIEW, organization=organization), reference)
        raise NotAllowed(refusal) from None


def require_create_permission(caller: Caller, organization: Organization, *, refusal: str) -> None:
    """Raises NotAllowed: with the refusal, or the words for an API key that is restricted to sources."""
    standing = effective_permissions(caller)
    if standing.sources is not None:
        raise NotAllowed(_NARROW_KEY)
    if organization.pk not in standing.where(Permission.SOURCES_CREATE):
        raise NotAllowed(refusal)


def resolve_organization(caller: Caller, reference: str, *, field: str = organization_resolver.HEADER) -> Organization:
    """The user's organisation with this slug or id, as the request's `field` names it. Raises InvalidRequest."""
    try:
        return organization_resolver.organization_named(caller.user, reference, where=field)
    except organization_resolver.OrganizationUndecided as error:
        raise InvalidRequest(str(error), field=field) from None
