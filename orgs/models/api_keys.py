"""API keys: credentials of one user for one organisation, or for all of the user's."""

from enum import StrEnum
from typing import Self

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Now
from django.utils import timezone

from accounts.audit.tracking import TrackedModelMixin, TrackedQuerySet
from orgs.access.permissions import Scope
from ragsite.http.addresses import Address, is_within
from ragsite.postgres.credential_fields import HiddenCharField
from ragsite.postgres.models import UUIDModel

from .organizations import Membership, Organization

# How many characters of a key are stored and shown, so that its owner recognises it.
PREFIX_CHARACTERS = 11
MAX_KEY_NAME_CHARACTERS = 100


class RefusalReason(StrEnum):
    """Why a known key is refused. If several reasons apply, the first of this list is given."""

    REVOKED = "revoked"
    EXPIRED = "expired"
    USER = "user_inactive"
    ORGANIZATION = "organization_inactive"
    MEMBERSHIP = "not_a_member"
    NETWORK = "outside_its_networks"


class ApiKeyQuerySet(TrackedQuerySet["ApiKey"]):
    def live(self) -> Self:
        """Return the keys that are neither revoked nor expired."""
        return self.filter(Q(expires_at=None) | Q(expires_at__gt=Now()), revoked_at=None)

    def with_refusal_facts(self) -> Self:
        """Read what `ApiKey.refusal_reason` needs in the same query."""
        membership = Membership.objects.filter(
            user=OuterRef("user"), organization=OuterRef("organization"), is_active=True
        )
        return self.select_related("user", "organization").annotate(is_member=Exists(membership))


class ApiKey(TrackedModelMixin, UUIDModel):
    """A credential that acts as its user in one organisation, within its scopes.

    Attributes:
        all_organizations: The key may read what its user may in every organisation of the user. It writes only in
            its own.
        prefix: The first characters of the key, which are shown.
        hash: SHA-256 of the whole key, in hexadecimal. The key has 256 random bits, so a slow hash would not make it
            harder to guess.
        source_ids: The data sources that the key is restricted to; None for no restriction. The id of a deleted source
            stays in the list and opens nothing.
        networks: The networks that the key may be used from, in CIDR notation; None for no restriction.
        lifetime: The period that the key was issued for; its successor gets the same. None for no end.
        flagged_at: When the key was first sent over plain HTTP.
        refused_at: When the key was last refused, to the hour.
        is_member: Whether the user is an active member of the organisation; read by `with_refusal_facts`.
    """

    is_member: bool

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="api_keys")
    organization = models.ForeignKey(Organization, models.CASCADE, related_name="api_keys", verbose_name="organisation")
    all_organizations = models.BooleanField("all organisations", default=False)
    name = models.CharField(max_length=MAX_KEY_NAME_CHARACTERS)
    prefix = models.CharField(max_length=PREFIX_CHARACTERS)
    hash = HiddenCharField(max_length=64)
    scopes = ArrayField(models.CharField(max_length=10, choices=Scope.choices))
    source_ids = ArrayField(models.UUIDField(), null=True, blank=True)
    networks = ArrayField(models.CharField(max_length=43), null=True, blank=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    lifetime = models.DurationField(null=True, blank=True, editable=False)
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    flagged_at = models.DateTimeField(null=True, blank=True)
    refused_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = ApiKeyQuerySet.as_manager()

    class Meta:
        verbose_name = "API key"
        ordering = ("-id",)
        constraints = (models.UniqueConstraint(fields=["hash"], name="api_key_by_its_hash"),)

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"

    @property
    def state(self) -> str:
        """`revoked`, `expired`, `flagged` or `active`; the first that applies."""
        if self.revoked_at:
            return "revoked"
        if self.expires_at and self.expires_at <= timezone.now():
            return "expired"
        return "flagged" if self.flagged_at else "active"

    def allows_address(self, address: Address | None) -> bool:
        """Return whether the key may be used from this address."""
        return self.networks is None or is_within(address, self.networks)

    @property
    def refusal_reason(self) -> RefusalReason | None:
        """Why the key is refused from every address; None if it is usable.

        Only for keys read with `with_refusal_facts`. The SQL function `orgs_effective_permissions`
        (orgs/migrations/sql/README.md names its file) states the same.
        """
        if self.revoked_at:
            return RefusalReason.REVOKED
        if self.expires_at and self.expires_at <= timezone.now():
            return RefusalReason.EXPIRED
        if not self.user.is_active:
            return RefusalReason.USER
        if not self.organization.is_active:
            return RefusalReason.ORGANIZATION
        return None if self.is_member else RefusalReason.MEMBERSHIP
