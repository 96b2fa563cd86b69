"""What a directory (SCIM) keeps about an organisation: its token, and its own names of users and groups."""

from django.db import models

from accounts.audit.tracking import TrackedModelMixin, TrackedQuerySet
from ragsite.postgres.credential_fields import HiddenCharField
from ragsite.postgres.models import UUIDModel

from .organizations import Membership, Organization, Team

PREFIX_CHARACTERS = 12


class ScimToken(TrackedModelMixin, UUIDModel):
    """The credential with which a directory changes the members of one organisation.

    Attributes:
        prefix: The first characters of the token, which are shown.
        hash: SHA-256 of the token, which has 256 random bits.
    """

    organization = models.OneToOneField(
        Organization, models.CASCADE, related_name="scim_token", verbose_name="organisation"
    )
    prefix = models.CharField(max_length=PREFIX_CHARACTERS, editable=False)
    hash = HiddenCharField(max_length=64, unique=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    last_used_at = models.DateTimeField(null=True, editable=False)

    objects = TrackedQuerySet["ScimToken"].as_manager()

    class Meta:
        verbose_name = "SCIM token"
        ordering = ("organization",)

    def __str__(self) -> str:
        return f"{self.prefix}…"


class ScimUser(UUIDModel):
    """The directory's identifier of a member."""

    membership = models.OneToOneField(Membership, models.CASCADE, related_name="scim_user")
    external_id = models.CharField(max_length=255)


class ScimGroup(UUIDModel):
    """A group of the directory, whose members are those of a team."""

    team = models.OneToOneField(Team, models.CASCADE, related_name="scim_group")
    display_name = models.CharField(max_length=255)
    external_id = models.CharField(max_length=255, blank=True)
