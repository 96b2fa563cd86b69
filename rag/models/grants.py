"""Grants, which open data sources to users, roles and teams, and the access lists that follow from them."""

from typing import ClassVar, Self

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from accounts.audit.tracking import TrackedModelMixin, TrackedQuerySet
from accounts.models import User
from orgs.access.permissions import Visibility
from orgs.models import Organization, Role, Team
from ragsite.postgres.models import UUIDModel

# Whom a grant can open a source to.
Grantee = User | Role | Team
# The grants of a source to users; as many are possible to roles, and to teams. The form of a source has five fields for
# each of them: DATA_UPLOAD_MAX_NUMBER_FIELDS must allow that.
MAX_GRANTS_PER_KIND = 200


class GrantQuerySet(TrackedQuerySet["Grant"]):
    """Queries of grants that have an effect now."""

    def unexpired(self) -> Self:
        """Return the grants that have not expired, by the clock of the database."""
        return self.filter(Q(expires_at=None) | Q(expires_at__gt=Now()))


class Grant(TrackedModelMixin, UUIDModel):
    """Opens a source to a user (visibility `private`), a role or a team, until the grant expires.

    It has no effect while the source has another visibility.
    """

    source = models.ForeignKey("rag.DataSource", models.CASCADE, related_name="grants")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, null=True, blank=True, related_name="+")
    role = models.ForeignKey(Role, models.CASCADE, null=True, blank=True, related_name="+")
    team = models.ForeignKey(Team, models.CASCADE, null=True, blank=True, related_name="+")
    granted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, editable=False, related_name="+"
    )
    granted_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField("until", null=True, blank=True, help_text="Empty: without an end.")

    objects = GrantQuerySet.as_manager()

    # The visibility for which each kind of grant has an effect.
    VISIBILITY_BY_KIND: ClassVar = {"role": Visibility.ROLE, "team": Visibility.TEAM, "user": Visibility.PRIVATE}

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


class AccessList(UUIDModel):
    """The audience of sources: of one organisation, with one visibility, open to the same users, roles or teams.

    Triggers keep them (rag/migrations/sql/access_lists.sql), and delete one that no source has any more. Only the
    functions that search read them: a search compares a few lists however many sources they have.

    Attributes:
        id: A digest of the other fields.
        principals: The users, roles or teams that the sources are granted to, or the owner of personal sources.
        expiries: When the grant of each principal expires; None if none of them does.
    """

    organization = models.ForeignKey(
        Organization, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )
    visibility = models.CharField(max_length=8)
    principals = ArrayField(models.UUIDField())
    expiries = ArrayField(models.DateTimeField(), null=True)

    class Meta:
        indexes = (models.Index(fields=["organization", "visibility"], name="accesslist_of_organization"),)

    def __str__(self) -> str:
        return f"{self.organization_id}, {self.visibility}: {self.id}"
