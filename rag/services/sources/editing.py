"""Making a data source and changing it: what it is called, and who may query it."""

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils.text import slugify

from accounts.models import User
from orgs.access.caller import Caller
from orgs.access.permissions import Visibility
from orgs.models import Organization
from rag.errors import InvalidRequest, NotAllowed, UnknownSource
from rag.models import Action, DataSource, Document, EmbeddingModel, Grant, Reembedding
from rag.services.jobs import lifecycle

from . import lookup

_MAY_NOT_CREATE = "You may not create data sources in this organisation."


@dataclass(frozen=True, slots=True)
class AccessLists:
    """Who a source is open to, beside its visibility: names of roles and teams, e-mail addresses. None: not said."""

    roles: tuple[str, ...] | None = None
    teams: tuple[str, ...] | None = None
    users: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class SourceSettings:
    """What a request says about a source; None is not said."""

    name: str | None = None
    slug: str | None = None
    description: str | None = None
    visibility: str | None = None
    source_type: str | None = None
    embedding_model: str | None = None
    access: AccessLists = AccessLists()


def create_source(caller: Caller, wanted: SourceSettings, *, organization: Organization | None = None) -> DataSource:
    """A new source, owned by the user, in the organisation that is written to.

    What is not said: the slug is made from the name, which must be said; the visibility is the organisation's default.
    Raises NotAllowed without the permission, InvalidRequest for what a source cannot be.
    """
    home = lookup.resolve_target_organization(caller, organization=organization)
    lookup.require_create_permission(caller, home, refusal=_MAY_NOT_CREATE)
    source = DataSource(organization=home, owner=caller.authenticated_user, visibility=home.default_visibility)
    source.embedding_model = _model(wanted.embedding_model) or EmbeddingModel.objects.default()
    source.slug = slugify(wanted.name or "")[:100]
    with transaction.atomic():
        _write(source, wanted, granted_by=caller.authenticated_user)
        lookup.require_create_permission(caller, home, refusal=_MAY_NOT_CREATE)
    return source


def update_source(
    caller: Caller, reference: str, wanted: SourceSettings, *, organization: Organization | None = None
) -> DataSource:
    """What is said is changed, the rest stays. Raises what `create` raises, and UnknownSource."""
    seen = lookup.get_source_to_manage(caller, reference, organization=organization)
    with transaction.atomic():
        locked = DataSource.objects.select_for_update(of=("self",)).select_related("organization", "embedding_model")
        source = locked.filter(pk=seen.pk, deleted_at=None).first()
        if source is None:
            raise UnknownSource
        model = _model(wanted.embedding_model) or source.embedding_model
        if model != source.embedding_model:
            _require_empty(source)
            source.embedding_model = model
        _write(source, wanted, granted_by=caller.authenticated_user)
        if not lookup.visible_sources(caller, Action.MANAGE).filter(pk=source.pk).exists():
            raise NotAllowed(lookup.MAY_NOT_CHANGE)
    return source


def get_access_lists(caller: Caller, shown: Iterable[DataSource]) -> dict[uuid.UUID, AccessLists]:
    """Source's id → who it is open to, for those of the sources that the user may manage."""
    managed = lookup.visible_sources(caller, Action.MANAGE).filter(pk__in=[source.pk for source in shown])
    found: dict[uuid.UUID, dict[str, list[str]]] = {
        pk: {"roles": [], "teams": [], "users": []} for pk in managed.values_list("pk", flat=True)
    }
    grants = (
        Grant.objects.counting()
        .filter(source__in=list(found))
        .values_list("source", "role__name", "team__name", "user__email")
    )
    for pk, *names in grants:
        for kind, name in zip(("roles", "teams", "users"), names, strict=True):
            if name is not None:
                found[pk][kind].append(name)
    return {
        pk: AccessLists(**{kind: tuple(sorted(names)) for kind, names in each.items()}) for pk, each in found.items()
    }


def _require_empty(source: DataSource) -> None:
    """The caller has locked the source, so that nobody sends it a document meanwhile."""
    moving = source.reembeddings.filter(Q(state__in=Reembedding.OPEN) | Q(clearing__isnull=False))
    filled = Document.objects.live().filter(source=source)
    if filled.exists() or lifecycle.unfinished_jobs().filter(source=source).exists() or moving.exists():
        raise InvalidRequest(
            "The source has documents: their vectors were made by its embedding model. In the admin, Re-embed on the "
            "source's page moves them to another one (or manage.py reembed).",
            field="embeddingModel",
        )


def _model(name: str | None) -> EmbeddingModel | None:
    if name is None:
        return None
    default = EmbeddingModel.objects.default()  # its row may not have been made yet
    found = default if default.name == name else EmbeddingModel.objects.filter(name=name).first()
    if found is None:
        raise InvalidRequest("There is no embedding model of this name.", field="embeddingModel")
    return found


def _write(source: DataSource, wanted: SourceSettings, *, granted_by: User) -> None:
    said = {name: getattr(wanted, name) for name in ("name", "slug", "description", "visibility", "source_type")}
    for name, value in said.items():
        if value is not None:
            setattr(source, name, value)
    if not source.slug:
        raise InvalidRequest("slug is required: none can be made from this name.", field="slug")
    if source.visibility == Visibility.PERSONAL and source.owner is None:
        raise InvalidRequest("A personal source needs an owner, and this one has none.", field="visibility")
    try:
        with transaction.atomic():
            source.save()
    except IntegrityError:
        raise InvalidRequest("The organisation has a source of this slug already.", field="slug") from None
    for kind in Grant.COUNTS_FOR:
        names = getattr(wanted.access, f"{kind}s")
        if names is not None:
            _open_to(source, kind, names, granted_by=granted_by)


def _open_to(source: DataSource, kind: str, names: tuple[str, ...], *, granted_by: User) -> None:
    """Replace the source's list of this kind. A list that would count for nothing is refused.

    Who is in it already stays as granted, with an end if there is one; what has ended is granted anew.
    """
    field, visibility = f"{kind}s", Grant.COUNTS_FOR[kind]
    if names and source.visibility != visibility:
        message = f"{field} count only while the visibility is {visibility}; it is {source.visibility}."
        raise InvalidRequest(message, field=field)
    found = _named(source.organization, kind, names)
    listed = source.grants.exclude(**{kind: None})
    kept = set(listed.counting().values_list(kind, flat=True))
    listed.exclude(**{f"{kind}__in": kept & {each.pk for each in found}}).delete()
    Grant.objects.bulk_create(
        Grant(source=source, granted_by=granted_by, **{kind: each}) for each in found if each.pk not in kept
    )


def _named(home: Organization, kind: str, names: tuple[str, ...]) -> list[Any]:
    """The organisation's roles or teams of these names, or its members of these addresses."""
    if kind == "user":
        names = tuple(User.objects.normalize_email(name) for name in names)
        members = User.objects.filter(memberships__organization=home, memberships__is_active=True)
        found: dict[str, Any] = {each.email: each for each in members.filter(email__in=names)}
    else:
        rows = home.roles if kind == "role" else home.teams
        found = {each.name: each for each in rows.filter(name__in=names)}
    if unknown := sorted(set(names) - set(found)):
        raise InvalidRequest(f"The organisation has no {kind} {unknown[0]}.", field=f"{kind}s")
    return list(found.values())
