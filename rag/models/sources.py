"""Data sources, and the access rule."""

import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_
from typing import Self

from django.conf import settings
from django.db import connection, models
from django.db.models import Exists, OuterRef, Q

from accounts.audit.tracked_model import Row
from accounts.audit.tracking import TrackedModelMixin, TrackedQuerySet
from accounts.models import User
from orgs.access.caller import Caller
from orgs.access.effective_permissions import EffectivePermissions, effective_permissions
from orgs.access.organization_resolver import MAX_REFERENCE_CHARACTERS
from orgs.access.permissions import Action as Action
from orgs.access.permissions import Permission, Visibility
from orgs.models import AnyUser, Organization
from rag.errors import ModelChanged, UnknownSource
from rag.types import MemberGrants
from ragsite.postgres.models import UUIDModel

from .embedding_models import EmbeddingModel
from .grants import AccessList, Grant

# The pattern of a source's slug (the v3 contract, 2.1).
SLUG = "[a-zA-Z0-9_-]+"
MAX_SOURCE_SLUG_CHARACTERS = MAX_REFERENCE_CHARACTERS  # requests name sources by their slugs
MAX_SOURCE_NAME_CHARACTERS = 150
# What a name must not have: it would change the order of the words around it, on pages about access too.
DIRECTION_CONTROLS = r"[\u202a-\u202e\u2066-\u2069]"


class SourceType(models.TextChoices):
    """The types of documents that the retrieval contract defines."""

    TRANSCRIPT = "transcript"
    EMAIL = "email"
    DOC = "doc"
    FAQ = "faq"
    WEB = "web"


@dataclass(frozen=True, slots=True)
class QueryableSources:
    """The data sources that a caller may query.

    Attributes:
        organizations: Organisations whose public sources the caller may query, all of them.
        list_others: Composes the query of the other sources that the caller may query. Most searches do not need it.
        grants: Who has the grants of the other sources; None if access to them does not follow from grants and
            ownership alone.
    """

    organizations: frozenset[uuid.UUID]
    list_others: "Callable[[], DataSourceQuerySet]"
    grants: MemberGrants | None = None

    def within(self, organization_id: uuid.UUID) -> "QueryableSources":
        """Return those of this organisation."""
        organizations = self.organizations & {organization_id}
        grants = self.grants and replace(self.grants, organization_ids=tuple(organizations))
        return QueryableSources(organizations, lambda: self.other_sources.filter(organization=organization_id), grants)

    @property
    def other_sources(self) -> "DataSourceQuerySet":
        """The other sources that the caller may query."""
        return self.list_others()

    @property
    def public(self) -> "DataSourceQuerySet":
        """The public sources of the organisations."""
        return DataSource.objects.public_in(self.organizations)


class DataSourceQuerySet(TrackedQuerySet["DataSource"]):
    """Queries of data sources, restricted by the access rule."""

    @staticmethod
    def is_slug_taken(organization: Organization, slug: str) -> bool:
        """Return whether a source has this slug, even an invisible one. False unless the caller may create sources."""
        with connection.cursor() as cursor:
            cursor.execute("SELECT rag_is_slug_taken(%s, %s)", [organization.pk, slug])
            return bool(cursor.fetchone()[0])

    def visible_to(self, caller: Caller, action: Action) -> Self:
        """Return the data sources on which the caller may perform this action, by the only access rule.

        docs/contracts/access.md describes it. Permissions are read on each call, so do not keep the result. Anonymous,
        deactivated and foreign users see nothing. The rules use subqueries, so that no row is returned twice.
        """
        return self._visible_with(effective_permissions(caller), caller.user, action)

    def public_in(self, organization_ids: Iterable[uuid.UUID]) -> Self:
        """Return the public sources of these organisations, in no particular order."""
        public = self.filter(organization__in=organization_ids, visibility=Visibility.PUBLIC, deleted_at=None)
        return public.order_by()

    def queryable_by(self, caller: Caller) -> "QueryableSources":
        """Return what `visible_to` returns for QUERY, in a form that does not list public sources."""
        user, permissions = caller.user, effective_permissions(caller)

        def list_visible() -> DataSourceQuerySet:
            return self._visible_with(permissions, user, Action.QUERY)

        if permissions.sources is not None or not permissions.allows(Action.QUERY):
            return QueryableSources(frozenset(), list_visible)
        grants = _grants_of(user.pk, permissions) if user.pk and permissions.organizations else None
        return QueryableSources(
            permissions.organizations, lambda: list_visible().exclude(visibility=Visibility.PUBLIC), grants
        )

    def _visible_with(self, permissions: EffectivePermissions, user: AnyUser, action: Action) -> Self:
        if user.pk is None or not user.is_active or not permissions.allows(action):
            return self.none()
        condition = reduce(or_, (rule(user, permissions) for rule in _RULES[action]))
        sources = self.filter(condition, deleted_at=None)
        if permissions.only_organization is not None:  # a superuser manages sources without a membership
            sources = sources.filter(organization=permissions.only_organization)
        return sources if permissions.sources is None else sources.filter(pk__in=permissions.sources)


def _grants_of(user_id: uuid.UUID, permissions: EffectivePermissions) -> MemberGrants:
    return MemberGrants(user_id, *map(tuple, (permissions.roles, permissions.teams, permissions.organizations)))


def _may_query(user: AnyUser, permissions: EffectivePermissions) -> Q:
    """The visibility of the source alone decides. Neither a staff flag nor a permission of a role allows more."""
    # EXISTS: PostgreSQL looks up the grants of few sources by an index, and reads all grants of the user for many.
    grants = Grant.objects.unexpired().filter(source=OuterRef("pk"))
    # A grant to a role or team of another organisation has no effect.
    organization = OuterRef("organization")
    is_visible = (
        Q(visibility=Visibility.PUBLIC)
        | Q(Exists(grants.filter(user=user.pk)), visibility=Visibility.PRIVATE)
        | Q(visibility=Visibility.PERSONAL, owner=user.pk)
    )
    if permissions.roles:
        role_grants = grants.filter(role__in=permissions.roles, role__organization=organization)
        is_visible |= Q(Exists(role_grants), visibility=Visibility.ROLE)
    if permissions.teams:
        team_grants = grants.filter(team__in=permissions.teams, team__organization=organization)
        is_visible |= Q(Exists(team_grants), visibility=Visibility.TEAM)
    return Q(organization__in=permissions.organizations) & is_visible


def _may_ingest(user: AnyUser, permissions: EffectivePermissions) -> Q:
    return Q(organization__in=permissions.organizations_with(Permission.SOURCES_INGEST)) | Q(
        organization__in=permissions.organizations, owner=user.pk
    )


def _may_manage(user: AnyUser, permissions: EffectivePermissions) -> Q:
    """Owners manage their sources. A superuser manages all sources, but reads only those that `_may_query` allows."""
    if user.is_superuser and User.objects.filter(pk=user.pk, is_active=True, is_superuser=True).exists():
        return Q(organization__is_active=True)
    return Q(organization__in=permissions.organizations_with(Permission.SOURCES_MANAGE)) | Q(
        organization__in=permissions.organizations, owner=user.pk
    )


_RULES = {
    Action.QUERY: (_may_query,),
    Action.INGEST: (_may_ingest,),
    Action.MANAGE: (_may_manage,),
    Action.VIEW: (_may_query, _may_ingest, _may_manage),
}


class DataSource(TrackedModelMixin, UUIDModel):
    """A named collection of documents in one organisation, all embedded with the same model."""

    organization = models.ForeignKey(Organization, models.CASCADE, related_name="sources", verbose_name="organisation")
    name = models.CharField(max_length=MAX_SOURCE_NAME_CHARACTERS)
    slug = models.CharField(max_length=MAX_SOURCE_SLUG_CHARACTERS)
    description = models.TextField(blank=True, max_length=2000)
    visibility = models.CharField(
        "who may query it", max_length=8, choices=Visibility.choices, default=Visibility.PUBLIC
    )
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="owned_sources"
    )
    # A trigger sets it, so that searches know the audience of many sources at once. It is never NULL in the database.
    access_list = models.ForeignKey(
        AccessList, models.DO_NOTHING, null=True, editable=False, db_index=False, related_name="+"
    )
    source_type = models.CharField(
        "type", max_length=10, choices=SourceType.choices, default=SourceType.DOC, help_text="Documents inherit it."
    )
    embedding_model = models.ForeignKey(EmbeddingModel, models.PROTECT, related_name="sources")
    has_ocr = models.BooleanField(
        "read text in pictures (OCR)",
        default=True,
        db_default=True,
        help_text="Recognise the text of pictures and of scanned pages. It takes some seconds per page.",
    )
    # Needed where questions or documents are not English (docs/decisions/0046-languages.md).
    second_model = models.ForeignKey(
        EmbeddingModel, models.PROTECT, null=True, blank=True, editable=False, related_name="+"
    )
    # When all chunks had a vector of the second model for the first time. It is used for searches from then on.
    second_model_ready_at = models.DateTimeField(null=True, blank=True, editable=False)
    # When the next measurement of its quality was requested (rag.services.evaluation.requested_measurements).
    quality_requested_at = models.DateTimeField(null=True, blank=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    deleted_at = models.DateTimeField(null=True, blank=True, editable=False)

    objects = DataSourceQuerySet.as_manager()

    class Meta:
        ordering = ("organization", "slug")
        constraints = (
            models.UniqueConstraint(
                fields=["organization", "slug"], condition=Q(deleted_at=None), name="source_slug_in_organization"
            ),
            models.CheckConstraint(condition=Q(slug__regex=f"^{SLUG}$"), name="source_slug_pattern"),
        )
        indexes = (
            models.Index(
                fields=["access_list", "embedding_model", "second_model_ready_at", "second_model"],
                name="source_access_list",
            ),
            models.Index(
                fields=["quality_requested_at"],
                condition=Q(quality_requested_at__isnull=False),
                name="requested_measurements",
            ),
        )

    def __str__(self) -> str:
        return self.name

    def lock_for_write(self, *, any_model: bool = False) -> None:
        """Lock the source until the transaction ends: it cannot be deleted or get another embedding model meanwhile.

        Many transactions can hold this lock at a time (FOR KEY SHARE). Deleting the source or switching its model
        waits for all of them (FOR UPDATE).

        Args:
            any_model: Accept a source whose embedding model has changed since this instance was loaded.

        Raises:
            UnknownSource: If the source is deleted.
            ModelChanged: If the source has another embedding model than this instance.
        """
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT embedding_model_id FROM rag_datasource WHERE id = %s AND deleted_at IS NULL FOR KEY SHARE",
                [self.pk],
            )
            row = cursor.fetchone()
        if row is None:
            raise UnknownSource
        if row[0] != self.embedding_model_id and not any_model:
            raise ModelChanged

    def try_lock_alone(self) -> bool:
        """Lock the source until the transaction ends, unless another transaction holds any lock of it. Never waits.

        Whoever calls `lock_for_write` waits meanwhile, so the transaction should be short.

        Returns:
            Whether the source is locked, so that no other transaction writes its documents.
        """
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT FROM rag_datasource WHERE id = %s AND deleted_at IS NULL FOR UPDATE SKIP LOCKED", [self.pk]
            )
            return bool(cursor.rowcount)


class SourceContentQuerySet(TrackedQuerySet[Row]):
    """Queries of rows that belong to a data source."""

    def visible_to(self, caller: Caller, action: Action) -> Self:
        """Return the rows of the data sources on which the caller may perform this action."""
        return self.filter(source__in=DataSource.objects.visible_to(caller, action).values("pk"))
