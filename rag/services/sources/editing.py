"""Changes data sources: their settings, and who may query them."""

from dataclasses import dataclass, field

from django.db import IntegrityError, transaction

from accounts.models import User
from orgs.access.caller import Caller
from orgs.access.effective_permissions import effective_permissions
from orgs.access.permissions import Permission, Visibility
from orgs.models import Organization
from rag.errors import InvalidRequest, NotAllowed, SlugTaken, UnknownSource
from rag.models import Action, DataSource, Document, EmbeddingModel, Grant
from rag.services.jobs import close_and_cancel

from . import lookup
from .expected_version import check_version
from .grants_by_name import GrantsByName, replace_grants

_MAY_NOT_OPEN = (
    "You need the permission sources.create in this organisation to change who may query this data source, or its "
    "embedding model."
)


@dataclass(frozen=True, slots=True)
class SourceSettings:
    """The settings of a source in a request. A setting that the request does not contain is None.

    Attributes:
        owner_email: The e-mail address of the new owner. A new source belongs to its creator.
    """

    name: str | None = None
    slug: str | None = None
    description: str | None = None
    visibility: str | None = None
    source_type: str | None = None
    embedding_model: str | None = None
    has_ocr: bool | None = None
    owner_email: str | None = None
    access: GrantsByName = field(default_factory=GrantsByName)


def update_source(
    caller: Caller,
    reference: str,
    settings: SourceSettings,
    *,
    organization: Organization | None = None,
    expected_versions: frozenset[str] | None = None,
) -> DataSource:
    """Change the settings of a source. Settings that are None keep their value.

    The source's row is locked, so that concurrent changes are made one after the other. The embedding model can only
    change while the source has no documents, unfinished jobs or unfinished re-embedding. The caller must still be able
    to manage the source after the change, unless they have transferred it; otherwise nothing is changed.

    Args:
        caller: The caller, whose permissions apply.
        reference: The id or slug of the source.
        settings: The new settings.
        organization: The organisation that the request names, if any.
        expected_versions: The versions that may be changed (overwrite_protection); None for any.

    Returns:
        The changed source.

    Raises:
        VersionChanged: If the source is in another version.
        NotAllowed: If the caller may see the source, but not manage it, or could not manage it after the change, or
            is only its owner and the change is not one for owners.
        UnknownSource: If the source does not exist for the caller.
        InvalidRequest: If a setting is invalid, or the embedding model of a source with documents would change.
    """
    visible = lookup.get_source_to_manage(caller, reference, organization=organization)
    with transaction.atomic():
        # With the owner, who is None if they left the organisation: the caller does not see them any more.
        sources = DataSource.objects.select_related("organization", "embedding_model", "owner")
        source = sources.select_for_update(of=("self",)).filter(pk=visible.pk, deleted_at=None).first()
        if source is None:
            raise UnknownSource
        _require_management(caller, source)
        check_version(source, expected_versions)
        _require_owner_permissions(caller, source, settings)
        model = get_model(settings.embedding_model) or source.embedding_model
        if model != source.embedding_model:
            _require_empty(source)
            source.embedding_model = model
        save_settings(source, settings, granted_by=caller.authenticated_user)
        _require_management(caller, source)
        if settings.owner_email is not None:
            _transfer(source, settings.owner_email)  # comes last: afterwards the caller may not change the source
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
    if has_new_visibility or settings.embedding_model is not None or settings.access != GrantsByName():
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


def _require_empty(source: DataSource) -> None:
    """Check that nothing of the source has vectors of its embedding model. The calling code has locked its row.

    Raises:
        InvalidRequest: If the source has documents, unfinished jobs or an unfinished re-embedding.
    """
    if Document.objects.live().filter(source=source).exists():
        message = (
            "The source has documents, whose vectors come from its embedding model. To change the model, use Re-embed "
            "on the source's page in the admin, or manage.py reembed."
        )
    elif close_and_cancel.unfinished_jobs().filter(source=source).exists():
        message = "The source has an unfinished job. To change the embedding model, wait for the job or cancel it."
    elif source.reembeddings.unfinished().exists():
        message = (
            "A re-embedding of the source is not finished, or its vectors are still being removed. To change the "
            "embedding model, wait for it, or cancel it on the source's page in the admin."
        )
    else:
        return
    raise InvalidRequest(message, field="embeddingModel")


def get_model(name: str | None) -> EmbeddingModel | None:
    """Return the embedding model of this name; None without a name.

    Raises:
        InvalidRequest: If there is no such model.
    """
    if name is None:
        return None
    default = EmbeddingModel.objects.default()  # creates its row on first use
    model = default if default.name == name else EmbeddingModel.objects.filter(name=name).first()
    if model is None:
        raise InvalidRequest("There is no embedding model of this name.", field="embeddingModel")
    return model


def save_settings(source: DataSource, settings: SourceSettings, *, granted_by: User) -> None:
    """Validate and save the source with the given settings, and replace the given access lists.

    Args:
        source: The source, saved or not.
        settings: The settings. Those that are None keep their value.
        granted_by: The user who makes the change.

    Raises:
        InvalidRequest: If a setting is invalid.
        SlugTaken: If the organisation has another source of this slug.
    """
    for name in ("name", "slug", "description", "visibility", "source_type", "has_ocr"):
        if (value := getattr(settings, name)) is not None:
            setattr(source, name, value)
    if not source.slug:
        raise InvalidRequest("slug is required: none can be made from this name.", field="slug")
    if source.visibility == Visibility.PERSONAL and source.owner is None and settings.owner_email is None:
        raise InvalidRequest("A personal source needs an owner, and this one has none.", field="visibility")
    try:
        with transaction.atomic():
            source.save()
    except IntegrityError:
        raise SlugTaken from None
    for kind in Grant.VISIBILITY_BY_KIND:
        names = getattr(settings.access, f"{kind}s")
        if names is not None:
            replace_grants(source, kind, names, granted_by=granted_by)
