"""Data sources: what access is granted on, and the one rule of who may do what with them."""

from functools import reduce
from operator import or_
from typing import ClassVar, Self

from django.conf import settings
from django.db import connection, models
from django.db.models import F, Q
from django.db.models.functions import Now

from accounts.audit.tracking import TrackedModelMixin, TrackedQuerySet
from accounts.models import User
from orgs.access.caller import Caller
from orgs.access.effective_permissions import EffectivePermissions, effective_permissions
from orgs.access.permissions import Action as Action
from orgs.access.permissions import Permission, Visibility
from orgs.models import AnyUser, Organization, Role, Team
from rag.errors import ModelChanged, UnknownSource
from ragsite.postgres.models import UUIDModel

from .embedding_models import EmbeddingModel

# What a source may be called by (the v3 contract, 2.1).
SLUG = "[a-zA-Z0-9_-]+"


class SourceType(models.TextChoices):
    """Closed (the retrieval contract)."""

    TRANSCRIPT = "transcript"
    EMAIL = "email"
    DOC = "doc"
    FAQ = "faq"
    WEB = "web"


class DataSourceQuerySet(TrackedQuerySet["DataSource"]):
    def visible_to(self, caller: Caller, action: Action) -> Self:
        """The only access rule of the product (docs/contracts/access.md), decided now: do not keep it.

        Subqueries, not joins, so that rows never double. Anonymous, deactivated and foreign users: none. A user who
        acts by an API key: what the key's scopes and its list of sources leave of it.
        """
        user = caller.user
        if user.pk is None or not user.is_active:
            return self.none()
        standing = effective_permissions(caller)
        if not standing.covers(action):
            return self.none()
        rules = _RULES[action]
        found = self.filter(reduce(or_, (rule(user, standing) for rule in rules)), deleted_at=None)
        return found if standing.sources is None else found.filter(pk__in=standing.sources)


def _may_query(user: AnyUser, standing: EffectivePermissions) -> Q:
    """By the source's visibility and nothing else: no staff flag and no organisation role widens it."""
    # A grant to a role or team of another organisation would be a hole; it counts for nothing.
    home = F("source__organization")
    by_user = Grant.objects.counting().filter(user=user.pk)
    opened = (
        Q(visibility=Visibility.PUBLIC)
        | Q(visibility=Visibility.PRIVATE, pk__in=by_user.values("source"))
        | Q(visibility=Visibility.PERSONAL, owner=user.pk)
    )
    if standing.roles:
        by_role = Grant.objects.counting().filter(role__in=standing.roles, role__organization=home)
        opened |= Q(visibility=Visibility.ROLE, pk__in=by_role.values("source"))
    if standing.teams:
        by_team = Grant.objects.counting().filter(team__in=standing.teams, team__organization=home)
        opened |= Q(visibility=Visibility.TEAM, pk__in=by_team.values("source"))
    return Q(organization__in=standing.organizations) & opened


def _may_ingest(user: AnyUser, standing: EffectivePermissions) -> Q:
    return Q(organization__in=standing.where(Permission.SOURCES_INGEST)) | Q(
        organization__in=standing.organizations, owner=user.pk
    )


def _may_manage(user: AnyUser, standing: EffectivePermissions) -> Q:
    """A superuser runs the platform and manages every source; to read one they need what everybody needs."""
    if user.is_superuser and User.objects.filter(pk=user.pk, is_active=True, is_superuser=True).exists():
        return Q(organization__is_active=True)
    return Q(organization__in=standing.where(Permission.SOURCES_MANAGE))


_RULES = {
    Action.QUERY: (_may_query,),
    Action.INGEST: (_may_ingest,),
    Action.MANAGE: (_may_manage,),
    Action.VIEW: (_may_query, _may_ingest, _may_manage),
}


class DataSource(TrackedModelMixin, UUIDModel):
    """A named collection of documents in one organisation, all chunked and embedded alike."""

    organization = models.ForeignKey(Organization, models.CASCADE, related_name="sources", verbose_name="organisation")
    name = models.CharField(max_length=150)
    slug = models.CharField(max_length=100)
    description = models.TextField(blank=True, max_length=2000)
    visibility = models.CharField(
        "who may query it", max_length=8, choices=Visibility.choices, default=Visibility.PUBLIC
    )
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="owned_sources"
    )
    source_type = models.CharField(
        "type", max_length=10, choices=SourceType.choices, default=SourceType.DOC, help_text="Documents inherit it."
    )
    embedding_model = models.ForeignKey(EmbeddingModel, models.PROTECT, related_name="sources")
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

    def __str__(self) -> str:
        return f"{self.slug} · {self.organization}"

    def hold(self, *, any_model: bool = False) -> None:
        """Until the transaction ends, nobody deletes the source or gives it another embedding model.

        Raises UnknownSource if it is deleted already, and, unless any model will do, ModelChanged if it has another
        one than this instance.
        """
        with connection.cursor() as cursor:
            # Held by many at a time; whoever deletes or changes the model waits for all of them (SELECT FOR UPDATE).
            cursor.execute(
                "SELECT embedding_model_id FROM rag_datasource WHERE id = %s AND deleted_at IS NULL FOR KEY SHARE",
                [self.pk],
            )
            row = cursor.fetchone()
        if row is None:
            raise UnknownSource
        if row[0] != self.embedding_model_id and not any_model:
            raise ModelChanged


class SourceContentQuerySet(TrackedQuerySet):
    """For everything that has a `source`: it is visible as its source is."""

    def visible_to(self, caller: Caller, action: Action) -> Self:
        return self.filter(source__in=DataSource.objects.visible_to(caller, action).values("pk"))


class GrantQuerySet(TrackedQuerySet["Grant"]):
    def counting(self) -> Self:
        """Those that have not come to their end, by the database's clock."""
        return self.filter(Q(expires_at=None) | Q(expires_at__gt=Now()))


class Grant(TrackedModelMixin, UUIDModel):
    """Opens a source to a user (private), a role or a team. Counts only for the visibility it belongs to, and until it
    ends."""

    source = models.ForeignKey(DataSource, models.CASCADE, related_name="grants")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, null=True, blank=True, related_name="+")
    role = models.ForeignKey(Role, models.CASCADE, null=True, blank=True, related_name="+")
    team = models.ForeignKey(Team, models.CASCADE, null=True, blank=True, related_name="+")
    granted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, editable=False, related_name="+"
    )
    granted_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField("until", null=True, blank=True, help_text="Empty: without an end.")

    objects = GrantQuerySet.as_manager()

    # The visibility that each kind of grant counts for.
    COUNTS_FOR: ClassVar = {"role": Visibility.ROLE, "team": Visibility.TEAM, "user": Visibility.PRIVATE}

    class Meta:
        ordering = ("source", "granted_at")
        constraints = (
            models.CheckConstraint(
                name="grant_names_exactly_one",
                condition=Q(user__isnull=False, role=None, team=None)
                | Q(user=None, role__isnull=False, team=None)
                | Q(user=None, role=None, team__isnull=False),
            ),
            models.UniqueConstraint(fields=["source", "user", "role", "team"], nulls_distinct=False, name="grant_once"),
        )

    def __str__(self) -> str:
        return f"{self.source}: {self.user or self.role or self.team}"
