"""Data sources: what access is granted on, and the one rule of who may do what with them."""

import enum
from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from orgs.models import Caller, Membership, Organization, Role, Team
from orgs.permissions import Permission, Visibility
from ragsite.db import UUIDModel

from .embedding_models import EmbeddingModel


class Action(enum.Enum):
    """What a caller wants to do. QUERY reads passages; INGEST writes documents; MANAGE sees and changes the source.

    VIEW is any of the three: a source that a caller may not VIEW does not exist for them.
    """

    QUERY = "query"
    INGEST = "ingest"
    MANAGE = "manage"
    VIEW = "view"


class SourceType(models.TextChoices):
    """Closed (contracts/retrieval-and-answer.md)."""

    TRANSCRIPT = "transcript"
    EMAIL = "email"
    DOC = "doc"
    FAQ = "faq"
    WEB = "web"


class DataSourceQuerySet(models.QuerySet["DataSource"]):
    def visible_to(self, user: Caller, action: Action) -> Self:
        """The only access rule of the product (contracts/RESOLUTION.md, "Visibility").

        Subqueries, not joins, so that rows never double. Anonymous, deactivated and foreign users: none.
        """
        if user.pk is None or not user.is_active:
            return self.none()
        return self.filter(_RULES[action](user), deleted_at=None, organization__is_active=True)


def _may_query(user: Caller) -> Q:
    """By the source's visibility and nothing else: no staff flag and no organisation role widens it."""
    member = Membership.objects.active_for(user)
    # A grant to a role or team of another organisation, or one held through a membership elsewhere, would be a hole.
    home = F("source__organization")
    own = Grant.objects.filter(Q(role__organization=home) | Q(team__organization=home))
    by_role = own.filter(role__memberships__in=member, role__memberships__organization=home)
    by_team = own.filter(team__memberships__in=member, team__memberships__organization=home)
    by_user = Grant.objects.filter(user=user.pk)
    return Q(organization__in=member.values("organization")) & (
        Q(visibility=Visibility.PUBLIC)
        | Q(visibility=Visibility.ROLE, pk__in=by_role.values("source"))
        | Q(visibility=Visibility.TEAM, pk__in=by_team.values("source"))
        | Q(visibility=Visibility.PRIVATE, pk__in=by_user.values("source"))
        | Q(visibility=Visibility.PERSONAL, owner=user.pk)
    )


def _may_ingest(user: Caller) -> Q:
    allowed = Membership.objects.allowing(user, Permission.SOURCES_INGEST).values("organization")
    member = Membership.objects.active_for(user).values("organization")
    return Q(organization__in=allowed) | Q(owner=user.pk, organization__in=member)


def _may_manage(user: Caller) -> Q:
    """A superuser runs the platform and manages every source; to read one they need what everybody needs."""
    if user.is_superuser:
        return Q(pk__isnull=False)  # not Q(), which an OR would drop
    return Q(organization__in=Membership.objects.allowing(user, Permission.SOURCES_MANAGE).values("organization"))


def _may_view(user: Caller) -> Q:
    return _may_query(user) | _may_ingest(user) | _may_manage(user)


_RULES = {
    Action.QUERY: _may_query,
    Action.INGEST: _may_ingest,
    Action.MANAGE: _may_manage,
    Action.VIEW: _may_view,
}


class DataSource(UUIDModel):
    """A named collection of documents in one organisation, all chunked and embedded alike."""

    organization = models.ForeignKey(Organization, models.CASCADE, related_name="sources")
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
            # v3's pattern for `source` (contracts/v3-ingestion-and-chat.md, 2.1)
            models.CheckConstraint(condition=Q(slug__regex=r"^[a-zA-Z0-9_-]+$"), name="source_slug_pattern"),
        )

    def __str__(self) -> str:
        return f"{self.slug} · {self.organization}"


class SourceContentQuerySet(models.QuerySet):
    """For everything that has a `source`: it is visible as its source is."""

    def visible_to(self, user: Caller, action: Action) -> Self:
        return self.filter(source__in=DataSource.objects.visible_to(user, action).values("pk"))


class Grant(UUIDModel):
    """Opens a source to a user (private), a role or a team. Counts only for the visibility it belongs to."""

    source = models.ForeignKey(DataSource, models.CASCADE, related_name="grants")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, null=True, blank=True, related_name="+")
    role = models.ForeignKey(Role, models.CASCADE, null=True, blank=True, related_name="+")
    team = models.ForeignKey(Team, models.CASCADE, null=True, blank=True, related_name="+")
    granted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, editable=False, related_name="+"
    )
    granted_at = models.DateTimeField(auto_now_add=True)

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
