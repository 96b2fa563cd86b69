"""Invitations of people into an organisation, by e-mail."""

from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from accounts.audit.events import MAX_EMAIL_CHARACTERS
from accounts.audit.tracking import TrackedModelMixin, TrackedQuerySet
from ragsite.postgres.models import UUIDModel

from .organizations import Organization, Role, Team


class InvitationQuerySet(TrackedQuerySet["Invitation"]):
    def open(self) -> Self:
        """Return the invitations that are neither accepted nor revoked nor expired."""
        return self.filter(accepted_at=None, revoked_at=None, expires_at__gt=timezone.now())


class Invitation(TrackedModelMixin, UUIDModel):
    """An invitation of an e-mail address into an organisation, with the roles and teams that the person will get.

    `orgs.invitations.invitation_lifecycle` issues and renews it, and has its lifetime (LIFETIME).

    Attributes:
        token_hash: SHA-256 of the token in the link, in hexadecimal. The token has 256 random bits, so a slow hash
            would not make it harder to guess.
        sends: How many messages were sent. Each has a new link, and ends the one before.
    """

    organization = models.ForeignKey(
        Organization, models.CASCADE, related_name="invitations", verbose_name="organisation"
    )
    email = models.EmailField("e-mail address", max_length=MAX_EMAIL_CHARACTERS)
    roles = models.ManyToManyField(Role, related_name="invitations", blank=True)
    teams = models.ManyToManyField(Team, related_name="invitations", blank=True)
    invited_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", editable=False)
    token_hash = models.CharField(max_length=64, unique=True, editable=False)
    sends = models.PositiveSmallIntegerField(default=0, editable=False)
    sent_at = models.DateTimeField("last sent", editable=False)
    expires_at = models.DateTimeField(editable=False)
    accepted_at = models.DateTimeField(null=True, editable=False)
    revoked_at = models.DateTimeField(null=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = InvitationQuerySet.as_manager()

    class Meta:
        ordering = ("-id",)
        constraints = (
            models.UniqueConstraint(
                fields=["organization", "email"],
                condition=Q(accepted_at=None, revoked_at=None),
                name="one_open_invitation_an_address",
            ),
        )

    def __str__(self) -> str:
        return f"{self.email} · {self.organization}"

    @property
    def state(self) -> str:
        """`accepted`, `revoked`, `expired` or `open`."""
        if self.accepted_at:
            return "accepted"
        if self.revoked_at:
            return "revoked"
        return "expired" if self.expires_at <= timezone.now() else "open"
