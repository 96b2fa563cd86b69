"""Organisations, their members, and the roles and teams of members."""

import uuid
from typing import Self

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils.translation import gettext

from accounts.audit.events import MAX_ORGANIZATION_NAME_CHARACTERS
from accounts.audit.tracking import TrackedModelMixin, TrackedQuerySet
from accounts.models import User
from orgs.access.permissions import Permission, QueryHistory, Visibility
from ragsite.postgres.models import UUIDModel

AnyUser = User | AnonymousUser
# Of the slug of an organisation, and of the names of roles and teams.
MAX_SLUG_CHARACTERS = 60


def _rate_limit(counted_requests: str) -> "models.PositiveIntegerField[int | None, int | None]":
    """Return a limit of the organisation, which replaces the platform's default."""
    return models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text=f"{counted_requests} Empty: the platform's default.",
    )


class Organization(TrackedModelMixin, UUIDModel):
    """A tenant. Nothing in one organisation is ever visible through another."""

    name = models.CharField(max_length=MAX_ORGANIZATION_NAME_CHARACTERS)
    slug = models.SlugField(max_length=MAX_SLUG_CHARACTERS, unique=True)
    is_active = models.BooleanField(default=True, help_text="Switch off to close it to all its members at once.")
    default_visibility = models.CharField(
        max_length=8,
        choices=Visibility.choices,
        default=Visibility.PUBLIC,
        help_text="For data sources that are made by the first document sent to them.",
    )
    queries_per_minute = _rate_limit("Searches, questions and chats of one person a minute.")
    ingestions_per_minute = _rate_limit("Requests that send documents, of one person a minute.")
    agent_requests_per_minute = _rate_limit("Requests to the agent, of one person a minute.")
    service_searches_per_minute = _rate_limit("Requests to the search service, of one API key a minute.")
    max_chunks = models.PositiveIntegerField(
        "maximum number of chunks",
        null=True,
        blank=True,
        help_text="Documents that would make more are refused (INDEX_FULL). Empty: no limit.",
    )
    max_bytes = models.PositiveBigIntegerField(
        "maximum number of bytes",
        null=True,
        blank=True,
        help_text="Of documents' texts and files; more are refused (INDEX_FULL). Empty: no limit.",
    )
    query_history = models.CharField(
        "history of questions",
        max_length=8,
        choices=QueryHistory.choices,
        default=QueryHistory.FULL,
        help_text="What is kept of its members' searches and chats. Of several organisations, the strictest counts.",
    )
    history_days = models.PositiveIntegerField(
        "days of history",
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(3650)],
        help_text="Then it is removed. Empty: the platform's default.",
    )
    created_at = models.DateTimeField(auto_now_add=True)
    # Set when its deletion has begun: nobody sees the organisation any more.
    deleted_at = models.DateTimeField(null=True, blank=True, editable=False)

    objects = TrackedQuerySet["Organization"].as_manager()

    class Meta:
        verbose_name = "organisation"
        ordering = ("slug",)

    def __str__(self) -> str:
        return self.name


class Role(TrackedModelMixin, UUIDModel):
    """A named set of permissions in one organisation. A data source can also be opened to a role."""

    organization = models.ForeignKey(Organization, models.CASCADE, related_name="roles", verbose_name="organisation")
    name = models.SlugField(max_length=MAX_SLUG_CHARACTERS)
    permissions = ArrayField(models.CharField(max_length=30, choices=Permission.choices), default=list, blank=True)

    objects = TrackedQuerySet["Role"].as_manager()

    class Meta:
        ordering = ("organization", "name")
        constraints = (models.UniqueConstraint(fields=["organization", "name"], name="role_name_in_organization"),)

    def __str__(self) -> str:
        return f"{self.name} · {self.organization}"


class Team(TrackedModelMixin, UUIDModel):
    """A group of members of one organisation. Members of a team also belong to the teams above it."""

    organization = models.ForeignKey(Organization, models.CASCADE, related_name="teams", verbose_name="organisation")
    name = models.SlugField(max_length=MAX_SLUG_CHARACTERS)
    parent = models.ForeignKey(
        "self", models.SET_NULL, null=True, blank=True, related_name="children", verbose_name="part of"
    )

    objects = TrackedQuerySet["Team"].as_manager()

    class Meta:
        ordering = ("organization", "name")
        constraints = (models.UniqueConstraint(fields=["organization", "name"], name="team_name_in_organization"),)

    def __str__(self) -> str:
        return f"{self.name} · {self.organization}"

    def clean(self) -> None:
        """Check that teams are nested within one organisation and without cycles.

        Raises:
            ValidationError: The parent belongs to another organisation, or is a part of this team.
        """
        super().clean()
        if self.parent and self.parent.organization_id != self.organization_id:
            raise ValidationError({"parent": gettext("Choose a team of the same organisation.")})
        if self.children.exclude(organization=self.organization_id).exists():
            text = gettext("Teams of the organisation that it is in now are a part of it.")
            raise ValidationError({"organization": text})
        above, seen = self.parent, set[uuid.UUID]()
        while above and above.pk not in seen:  # rows that no form has checked may contain a cycle
            if above.pk == self.pk:
                text = gettext("{team} is a part of this team, or this team itself. Choose another one.")
                raise ValidationError({"parent": text.format(team=self.parent and self.parent.name)})
            seen.add(above.pk)
            above = above.parent


class MembershipQuerySet(TrackedQuerySet["Membership"]):
    def active_for(self, user: AnyUser) -> Self:
        """Return the active memberships of a user in active organisations; none for anonymous and deactivated users."""
        if user.pk is None or not user.is_active:
            return self.none()
        return self.filter(user=user.pk, user__is_active=True, is_active=True, organization__is_active=True)

    def allowing(self, user: AnyUser, permission: Permission) -> Self:
        """Return the active memberships with a role that gives this permission, each once (by a subquery)."""
        granting_roles = Role.objects.filter(
            permissions__contains=[permission.value],
            memberships=models.OuterRef("pk"),
            organization=models.OuterRef("organization"),
        )
        return self.active_for(user).filter(models.Exists(granting_roles))


class Membership(TrackedModelMixin, UUIDModel):
    """A user in an organisation, with its roles and teams there."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="memberships")
    organization = models.ForeignKey(
        Organization, models.CASCADE, related_name="memberships", verbose_name="organisation"
    )
    roles = models.ManyToManyField(Role, related_name="memberships", blank=True)
    teams = models.ManyToManyField(Team, related_name="memberships", blank=True)
    is_active = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = MembershipQuerySet.as_manager()

    class Meta:
        ordering = ("organization", "user")
        constraints = (models.UniqueConstraint(fields=["user", "organization"], name="one_membership_a_user"),)

    def __str__(self) -> str:
        return f"{self.user} · {self.organization}"
