"""Creates data sources: those of a request's settings, and those that v3 ingestion names for the first time."""

from django.contrib.humanize.templatetags.humanize import intcomma
from django.db import IntegrityError, transaction
from django.utils.text import slugify
from django.utils.translation import gettext

from orgs.access import organization_resolver
from orgs.access.caller import Caller
from orgs.access.effective_permissions import effective_permissions
from orgs.access.permissions import Permission
from orgs.models import Organization
from rag.errors import InvalidRequest, NotAllowed, UnknownSource
from rag.models import Action, DataSource, EmbeddingModel
from rag.models.sources import MAX_SOURCE_SLUG_CHARACTERS
from ragsite.postgres import identity
from ragsite.postgres.locks import advisory_xact_locks
from ragsite.postgres.models import as_uuid

from . import editing, lookup
from .editing import SourceSettings

# The maximum of an organisation.
MAX_SOURCES = 10_000
_MAY_NOT_CREATE = "You need the permission sources.create in this organisation to create a data source."
_NOT_VISIBLE = (
    "This data source does not exist for you. You need the permission sources.create in this organisation to create it."
)
_TAKEN = "This data source does not exist for you, and you may not create one with this name."
_UNKNOWN_ID = "source is an id, but you have no data source with this id. To create a data source, send a name for it."
_RESTRICTED_KEY = "This API key is restricted to certain data sources, so it may not create one."


def create_source(caller: Caller, settings: SourceSettings, *, organization: Organization | None = None) -> DataSource:
    """Create a source that the caller owns.

    Defaults: the slug is derived from the name, the visibility and the embedding model are those of the organisation
    and of the platform.

    Args:
        caller: The caller, whose permissions apply.
        settings: The settings. Only `name` is required.
        organization: The organisation that the request names; else the caller's only one.

    Raises:
        NotAllowed: If the caller may not create sources in the organisation.
        InvalidRequest: If a setting is invalid, the organisation is ambiguous, or it has too many sources.
    """
    target = resolve_target_organization(caller, organization=organization)
    require_create_permission(caller, target, denied_message=_MAY_NOT_CREATE)
    source = DataSource(organization=target, owner=caller.authenticated_user, visibility=target.default_visibility)
    source.embedding_model = editing.get_model(settings.embedding_model) or EmbeddingModel.objects.default()
    derived_slug = slugify(settings.name or "")[:MAX_SOURCE_SLUG_CHARACTERS]
    source.slug = "" if as_uuid(derived_slug) else derived_slug
    with transaction.atomic():
        _check_number_of_sources(target)
        editing.save_settings(source, settings, granted_by=caller.authenticated_user)
        require_create_permission(caller, target, denied_message=_MAY_NOT_CREATE)
    return source


def get_or_build_source(caller: Caller, slug: str, *, organization: Organization | None = None) -> DataSource:
    """Return the source with this slug in the organisation that the request writes to, else a new, unsaved one.

    v3 contract, section 1: `source`. `save_if_new` saves it.

    Raises:
        NotAllowed: If the caller may neither send documents to the source nor create it.
        InvalidRequest: If the caller has several organisations and the request names none, or a new slug is a UUID. A
            source with such a slug could not be named afterwards, because UUIDs are ids.
    """
    target = resolve_target_organization(caller, organization=organization)
    try:
        return lookup.get_source_to_ingest(caller, slug, organization=target)
    except UnknownSource:
        pass
    require_create_permission(caller, target, denied_message=_NOT_VISIBLE)
    if as_uuid(slug):
        raise InvalidRequest(_UNKNOWN_ID, field="source")
    if DataSource.objects.is_slug_taken(target, slug):
        try:
            return lookup.get_source_to_ingest(caller, slug, organization=target)  # created since the first look
        except UnknownSource:
            raise NotAllowed(_TAKEN) from None
    return DataSource(
        organization=target,
        slug=slug,
        name=slug,
        visibility=target.default_visibility,
        owner=caller.authenticated_user,
        embedding_model=EmbeddingModel.objects.default(),
    )


def save_if_new(source: DataSource, caller: Caller | None) -> DataSource:
    """Save an unsaved source. If another request has created the slug first, return the source of that request.

    Args:
        source: The source, saved or not.
        caller: The user who creates it; may be None for a saved source.

    Raises:
        NotAllowed: If the caller may not send documents to the source of the other request.
        InvalidRequest: If the organisation has too many sources.
    """
    if not source._state.adding:
        return source
    assert caller is not None
    defaults = {
        "name": source.name,
        "visibility": source.visibility,
        "owner": source.owner,
        "embedding_model": source.embedding_model,
    }
    _check_number_of_sources(source.organization)
    try:
        saved, is_created = DataSource.objects.get_or_create(
            organization=source.organization, slug=source.slug, deleted_at=None, defaults=defaults
        )
    except IntegrityError:  # the source exists, but this user may not see it
        raise NotAllowed(_TAKEN) from None
    if not is_created and not lookup.visible_sources(caller, Action.INGEST).filter(pk=saved.pk).exists():
        raise NotAllowed(_TAKEN)
    return saved


def require_create_permission(caller: Caller, organization: Organization, *, denied_message: str) -> None:
    """Check that the caller may create sources in the organisation.

    Raises:
        NotAllowed: If the caller may not; with `denied_message`, or with another message for an API key that is
            restricted to certain sources.
    """
    permissions = effective_permissions(caller)
    if permissions.sources is not None:
        raise NotAllowed(_RESTRICTED_KEY)
    if organization.pk not in permissions.organizations_with(Permission.SOURCES_CREATE):
        raise NotAllowed(denied_message)


def resolve_target_organization(caller: Caller, *, organization: Organization | None = None) -> Organization:
    """Return the organisation in which the caller creates things: the named one, else their only one.

    Raises:
        InvalidRequest: If the caller has several organisations and the request names none.
        NotAllowed: If the caller has no organisation.
    """
    if organization:
        return organization
    try:
        return organization_resolver.get_only_organization(caller.user)
    except organization_resolver.NoOrganization as error:
        raise NotAllowed(str(error)) from None
    except organization_resolver.OrganizationUndecided as error:
        raise InvalidRequest(str(error), field=organization_resolver.HEADER) from None


def _check_number_of_sources(organization: Organization) -> None:
    """Check that the organisation may have another source, inside the transaction that creates it.

    Other transactions that create sources of this organisation wait until this one ends.

    Raises:
        InvalidRequest: If the organisation has MAX_SOURCES sources.
    """
    advisory_xact_locks([f"data sources of {organization.pk}"])
    with identity.run_as(identity.STAFF):  # the caller may not see all of them
        number = DataSource.objects.filter(organization=organization, deleted_at=None).count()
    if number >= MAX_SOURCES:
        text = gettext("The organisation has {number} data sources, which is the maximum. Delete one first.")
        raise InvalidRequest(text.format(number=intcomma(number)), field="source")
