"""Creates and changes data sources: their settings, and who may query them."""

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils.text import slugify

from accounts.models import User
from orgs.access.caller import Caller
from orgs.access.effective_permissions import effective_permissions
from orgs.access.permissions import Permission, Visibility
from orgs.models import Organization
from rag.errors import InvalidRequest, NotAllowed, UnknownSource
from rag.models import Action, DataSource, Document, EmbeddingModel, Grant, Reembedding
from rag.services.jobs import lifecycle

from . import limits, lookup

_MAY_NOT_CREATE = "You need the permission sources.create in this organisation to create a data source."
_MAY_NOT_OPEN = (
    "You need the permission sources.create in this organisation to change who may query this data source, or its "
    "embedding model."
)


@dataclass(frozen=True, slots=True)
class AccessLists:
    """Who may query a source with the matching visibility. A list that is None stays as it is.

    Attributes:
        roles: Names of roles of the organisation.
        teams: Names of teams of the organisation.
        users: E-mail addresses of members.
    """

    roles: tuple[str, ...] | None = None
    teams: tuple[str, ...] | None = None
    users: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class SourceSettings:
    """The settings of a source in a request. A setting that the request does not contain is None.

    Attributes:
        owner: The e-mail address of the new owner. A new source belongs to its creator.
    """

    name: str | None = None
    slug: str | None = None
    description: str | None = None
    visibility: str | None = None
    source_type: str | None = None
    embedding_model: str | None = None
    owner: str | None = None
    access: AccessLists = AccessLists()


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
    target = lookup.resolve_target_organization(caller, organization=organization)
    lookup.require_create_permission(caller, target, denied_message=_MAY_NOT_CREATE)
    source = DataSource(organization=target, owner=caller.authenticated_user, visibility=target.default_visibility)
    source.embedding_model = _get_model(settings.embedding_model) or EmbeddingModel.objects.default()
    source.slug = slugify(settings.name or "")[:100]
    with transaction.atomic():
        limits.check_number_of_sources(target)
        _save(source, settings, granted_by=caller.authenticated_user)
        lookup.require_create_permission(caller, target, denied_message=_MAY_NOT_CREATE)
    return source


def update_source(
    caller: Caller, reference: str, settings: SourceSettings, *, organization: Organization | None = None
) -> DataSource:
    """Change the settings of a source. Settings that are None keep their value.

    The source's row is locked, so that concurrent changes are made one after the other. The embedding model can only
    change while the source has no documents, open jobs or re-embedding. The caller must still be able to manage the
    source after the change, unless they have transferred it; otherwise nothing is changed.

    Args:
        caller: The caller, whose permissions apply.
        reference: The id or slug of the source.
        settings: The new settings.
        organization: The organisation that the request names, if any.

    Returns:
        The changed source.

    Raises:
        NotAllowed: If the caller may see the source, but not manage it, or could not manage it after the change, or
            is only its owner and the change is not one for owners.
        UnknownSource: If the source does not exist for the caller.
        InvalidRequest: If a setting is invalid, or the embedding model of a source with documents would change.
    """
    visible = lookup.get_source_to_manage(caller, reference, organization=organization)
    with transaction.atomic():
        locked = DataSource.objects.select_for_update(of=("self",)).select_related("organization", "embedding_model")
        source = locked.filter(pk=visible.pk, deleted_at=None).first()
        if source is None:
            raise UnknownSource
        _require_management(caller, source)
        _require_owner_permissions(caller, source, settings)
        model = _get_model(settings.embedding_model) or source.embedding_model
        if model != source.embedding_model:
            _require_empty(source)
            source.embedding_model = model
        _save(source, settings, granted_by=caller.authenticated_user)
        _require_management(caller, source)
        if settings.owner is not None:
            _transfer(source, settings.owner)  # comes last: the caller may not be able to change the source after it
    return source


def _require_management(caller: Caller, source: DataSource) -> None:
    if not lookup.visible_sources(caller, Action.MANAGE).filter(pk=source.pk).exists():
        raise NotAllowed(lookup.MAY_NOT_CHANGE)


def _require_owner_permissions(caller: Caller, source: DataSource, settings: SourceSettings) -> None:
    """Check that an owner changes only what they may choose when they create a source.

    Who may not create sources, for example because the source was transferred to them, can rename, transfer and delete
    it, but not decide who may query it.

    Raises:
        NotAllowed: If the caller is the owner, has neither sources.manage nor sources.create, and changes the
            visibility, an access list or the embedding model.
    """
    if source.owner_id != caller.user.pk or caller.user.is_superuser:
        return
    permissions = effective_permissions(caller)
    if any(
        source.organization_id in permissions.organizations_with(permission)
        for permission in (Permission.SOURCES_MANAGE, Permission.SOURCES_CREATE)
    ):
        return
    has_new_visibility = settings.visibility not in (None, source.visibility)
    if has_new_visibility or settings.embedding_model is not None or settings.access != AccessLists():
        raise NotAllowed(_MAY_NOT_OPEN)


def _transfer(source: DataSource, email: str) -> None:
    """Make the active member of the source's organisation with this e-mail address the owner."""
    address = User.objects.normalize_email(email)
    members = User.objects.filter(
        is_active=True, memberships__organization=source.organization_id, memberships__is_active=True
    )
    owner = members.filter(email=address).first()
    if owner is None:
        raise InvalidRequest("The organisation has no active member with this e-mail address.", field="owner")
    if owner.pk != source.owner_id:
        source.owner = owner
        source.save(update_fields=["owner", "updated_at"])


def get_access_lists(caller: Caller, sources: Iterable[DataSource]) -> dict[uuid.UUID, AccessLists]:
    """Return source id → access lists, without the sources that the caller may not manage."""
    managed = lookup.visible_sources(caller, Action.MANAGE).filter(pk__in=[source.pk for source in sources])
    names_by_source: dict[uuid.UUID, dict[str, list[str]]] = {
        source_id: {"roles": [], "teams": [], "users": []} for source_id in managed.values_list("pk", flat=True)
    }
    grants = (
        Grant.objects.unexpired()
        .filter(source__in=list(names_by_source))
        .values_list("source", "role__name", "team__name", "user__email")
    )
    for source_id, *names in grants:
        for kind, name in zip(("roles", "teams", "users"), names, strict=True):
            if name is not None:
                names_by_source[source_id][kind].append(name)
    return {
        source_id: AccessLists(**{kind: tuple(sorted(names)) for kind, names in lists.items()})
        for source_id, lists in names_by_source.items()
    }


def _require_empty(source: DataSource) -> None:
    """Raise InvalidRequest if the source has documents, open jobs or a re-embedding. The caller has locked its row."""
    reembeddings = source.reembeddings.filter(Q(state__in=Reembedding.OPEN_STATES) | Q(clearing__isnull=False))
    documents = Document.objects.live().filter(source=source)
    if documents.exists() or lifecycle.unfinished_jobs().filter(source=source).exists() or reembeddings.exists():
        raise InvalidRequest(
            "The source has documents, whose vectors come from its embedding model. To change the model, use Re-embed "
            "on the source's page in the admin, or manage.py reembed.",
            field="embeddingModel",
        )


def _get_model(name: str | None) -> EmbeddingModel | None:
    if name is None:
        return None
    default = EmbeddingModel.objects.default()  # creates its row on first use
    model = default if default.name == name else EmbeddingModel.objects.filter(name=name).first()
    if model is None:
        raise InvalidRequest("There is no embedding model of this name.", field="embeddingModel")
    return model


def _save(source: DataSource, settings: SourceSettings, *, granted_by: User) -> None:
    """Validate and save the source with the given settings, and replace the given access lists."""
    values = {name: getattr(settings, name) for name in ("name", "slug", "description", "visibility", "source_type")}
    for name, value in values.items():
        if value is not None:
            setattr(source, name, value)
    if not source.slug:
        raise InvalidRequest("slug is required: none can be made from this name.", field="slug")
    if source.visibility == Visibility.PERSONAL and source.owner is None and settings.owner is None:
        raise InvalidRequest("A personal source needs an owner, and this one has none.", field="visibility")
    try:
        with transaction.atomic():
            source.save()
    except IntegrityError:
        raise InvalidRequest("The organisation has a source of this slug already.", field="slug") from None
    for kind in Grant.COUNTS_FOR:
        names = getattr(settings.access, f"{kind}s")
        if names is not None:
            _replace_grants(source, kind, names, granted_by=granted_by)


def _replace_grants(source: DataSource, kind: str, names: tuple[str, ...], *, granted_by: User) -> None:
    """Replace the source's access list of this kind ("role", "team" or "user").

    Grants that are in both lists stay as they are, with their expiry. Expired ones are granted again.

    Raises:
        InvalidRequest: If the list would have no effect, because of the source's visibility.
    """
    field, visibility = f"{kind}s", Grant.COUNTS_FOR[kind]
    if names and source.visibility != visibility:
        message = f"{field} count only while the visibility is {visibility}; it is {source.visibility}."
        raise InvalidRequest(message, field=field)
    grantees = _get_grantees(source.organization, kind, names)
    grants = source.grants.exclude(**{kind: None})
    granted_ids = set(grants.unexpired().values_list(kind, flat=True))
    grants.exclude(**{f"{kind}__in": granted_ids & {grantee.pk for grantee in grantees}}).delete()
    Grant.objects.bulk_create(
        Grant(source=source, granted_by=granted_by, **{kind: grantee})
        for grantee in grantees
        if grantee.pk not in granted_ids
    )


def _get_grantees(organization: Organization, kind: str, names: tuple[str, ...]) -> list[Any]:
    """Return the organisation's roles or teams with these names, or its active members with these addresses."""
    if kind == "user":
        names = tuple(User.objects.normalize_email(name) for name in names)
        members = User.objects.filter(memberships__organization=organization, memberships__is_active=True)
        grantees: dict[str, Any] = {user.email: user for user in members.filter(email__in=names)}
    else:
        groups = organization.roles if kind == "role" else organization.teams
        grantees = {group.name: group for group in groups.filter(name__in=names)}
    if unknown := sorted(set(names) - set(grantees)):
        raise InvalidRequest(f"The organisation has no {kind} {unknown[0]}.", field=f"{kind}s")
    return list(grantees.values())
