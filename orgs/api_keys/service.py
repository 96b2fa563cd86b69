"""API keys: a credential of one user for one organisation, shown once and kept only as a hash."""

import hashlib
import re
import secrets
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Self

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models, transaction
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils import timezone

from accounts.audit.tracking import Watched, WatchedQuerySet
from accounts.models import User
from orgs.access.permissions import Scope
from ragsite.http.client_address import Address, is_within
from ragsite.postgres.models import UUIDModel

if TYPE_CHECKING:
    from orgs.models import Organization  # which imports this module, so that Django finds the model

PREFIX = "rk_"
MOST_LIVE_KEYS = 100
MOST_SOURCES = 100
MOST_NETWORKS = 20
OVERLAP = timedelta(hours=24)
MOST_OVERLAP = timedelta(days=30)
# `last_used_at` is this exact: not every request is worth a write.
_USE_IS_NOTED_EVERY = timedelta(minutes=1)
_REFUSAL_IS_NOTED_EVERY = timedelta(hours=1)
_SHOWN_CHARACTERS = 11
_FORM = re.compile(r"rk_[A-Za-z0-9_-]{43}")


class TooManyKeys(Exception):
    """The user has as many live keys as anybody may have. Its text is for the caller."""


class SpentKey(Exception):
    """A key that is revoked or expired has no successor. Its text is for the caller."""


class Refusal(StrEnum):
    """Why a key that is known does not count; of several, the first."""

    REVOKED = "revoked"
    EXPIRED = "expired"
    USER = "user_inactive"
    ORGANIZATION = "organization_inactive"
    MEMBERSHIP = "not_a_member"
    NETWORK = "outside_its_networks"


class ApiKeyQuerySet(WatchedQuerySet["ApiKey"]):
    def unspent(self) -> Self:
        """Neither revoked nor expired."""
        return self.filter(Q(expires_at=None) | Q(expires_at__gt=Now()), revoked_at=None)

    def usable(self) -> Self:
        """Those that count now: unspent, of an active user who is an active member of the active organisation."""
        return self.unspent().filter(
            user__is_active=True,
            organization__is_active=True,
            user__memberships__organization=F("organization"),  # at most one row (one_membership_a_user)
            user__memberships__is_active=True,
        )


class ApiKey(Watched, UUIDModel):
    """`prefix` is the part that is shown, `hash` SHA-256 of the whole key in hexadecimal: a key is 256 random bits,
    which no slow hash would make any harder to guess. `flagged_at`: when it first came over plain HTTP.
    `refused_at`: when it was last tried in vain, to the hour. `lifetime`: what it was made for, and its successor will
    be; None: without an end."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="api_keys")
    organization = models.ForeignKey(
        "orgs.Organization", models.CASCADE, related_name="api_keys", verbose_name="organisation"
    )
    name = models.CharField(max_length=100)
    prefix = models.CharField(max_length=_SHOWN_CHARACTERS)
    hash = models.CharField(max_length=64)
    scopes = ArrayField(models.CharField(max_length=10, choices=Scope.choices))
    # Data sources that it is restricted to, and networks (CIDR) that it may be used from; None: no restriction. A row
    # outlives its source: what is not there any more opens nothing.
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
        """`revoked`, `expired`, `flagged` or `active`: the first that holds."""
        if self.revoked_at:
            return "revoked"
        if self.expires_at and self.expires_at <= timezone.now():
            return "expired"
        return "flagged" if self.flagged_at else "active"


@dataclass(frozen=True, slots=True)
class IssuedKey:
    """A new key. `secret` is the key itself: whoever asked for it sees it now, and nobody ever again."""

    key: ApiKey
    secret: str = field(repr=False)


@transaction.atomic
def issue(
    *,
    user: User,
    organization: "Organization",
    name: str,
    scopes: Iterable[str],
    sources: Iterable[uuid.UUID] | None = None,
    networks: Iterable[str] | None = None,
    expires_at: datetime | None = None,
) -> IssuedKey:
    """Make a key. sources, networks (CIDR): what it is restricted to; None: not. Raises TooManyKeys."""
    User.objects.select_for_update(no_key=True).get(pk=user.pk)  # two requests at once must not pass the limit
    if ApiKey.objects.unspent().filter(user=user).count() >= MOST_LIVE_KEYS:
        raise TooManyKeys(f"You have {MOST_LIVE_KEYS} API keys, and nobody may have more: revoke one first.")
    secret = PREFIX + secrets.token_urlsafe(32)
    key = ApiKey.objects.create(
        user=user,
        organization=organization,
        name=name,
        prefix=secret[:_SHOWN_CHARACTERS],
        hash=_hash(secret),
        scopes=list(dict.fromkeys(scopes)),
        source_ids=None if sources is None else list(dict.fromkeys(sources)),
        networks=None if networks is None else list(dict.fromkeys(networks)),
        expires_at=expires_at,
        lifetime=expires_at - timezone.now() if expires_at else None,
    )
    return IssuedKey(key, secret)


@transaction.atomic
def rotate(key: ApiKey, *, overlap: timedelta = OVERLAP) -> IssuedKey:
    """A successor that may do exactly the same, for as long as the key was made for; the key itself ends after the
    overlap, if not before.

    Raises SpentKey, and TooManyKeys while both would count.
    """
    held = ApiKey.objects.unspent().select_for_update(of=("self",)).filter(pk=key.pk).first()
    if held is None:
        raise SpentKey("This API key is revoked or expired: make a new one.")
    end_by(ApiKey.objects.filter(pk=held.pk), timezone.now() + overlap)
    return issue(
        user=held.user,
        organization=held.organization,
        name=held.name,
        scopes=held.scopes,
        sources=held.source_ids,
        networks=held.networks,
        expires_at=timezone.now() + held.lifetime if held.lifetime else None,
    )


def end_by(keys: ApiKeyQuerySet, moment: datetime) -> int:
    """They end then, unless they end before. How many live ones that gave an earlier end."""
    return keys.unspent().filter(Q(expires_at=None) | Q(expires_at__gt=moment)).update(expires_at=moment)


def find_usable(secret: str, *, address: Address | None) -> ApiKey | None:
    """The key that this is, with its user and organisation, if it counts now and may be used from this address.

    Its user acts by it, and so can do no more than it allows.
    """
    if not _FORM.fullmatch(secret):
        return None
    key = ApiKey.objects.usable().filter(hash=_hash(secret)).select_related("user", "organization").first()
    if key is None or not _allows(key, address):
        return None
    return key


def find_refused(secret: str, *, address: Address | None) -> tuple[ApiKey, Refusal] | None:
    """The key that find_usable has just refused, with its user and organisation, and why; None if it is not known."""
    if not _FORM.fullmatch(secret):
        return None
    key = ApiKey.objects.filter(hash=_hash(secret)).select_related("user", "organization").first()
    why = key and _refusal(key, address)
    return (key, why) if key and why else None


def _refusal(key: ApiKey, address: Address | None) -> Refusal | None:
    """None if it counts again by now."""
    if key.revoked_at:
        return Refusal.REVOKED
    if key.expires_at and key.expires_at <= timezone.now():
        return Refusal.EXPIRED
    if not key.user.is_active:
        return Refusal.USER
    if not key.organization.is_active:
        return Refusal.ORGANIZATION
    if not key.user.memberships.filter(organization=key.organization, is_active=True).exists():
        return Refusal.MEMBERSHIP
    return None if _allows(key, address) else Refusal.NETWORK


def _allows(key: ApiKey, address: Address | None) -> bool:
    return key.networks is None or is_within(address, key.networks)


def note_use(key: ApiKey) -> None:
    """Set `last_used_at`, once a minute at most, however many processes use the key."""
    now = timezone.now()
    if key.last_used_at is None or key.last_used_at < now - _USE_IS_NOTED_EVERY:
        stale = Q(last_used_at=None) | Q(last_used_at__lt=now - _USE_IS_NOTED_EVERY)
        ApiKey.objects.filter(stale, pk=key.pk).update(last_used_at=now)


def note_refusal(key: ApiKey) -> bool:
    """Set `refused_at`, once an hour at most, however many processes refuse the key. Whether it was set."""
    now = timezone.now()
    if key.refused_at and key.refused_at >= now - _REFUSAL_IS_NOTED_EVERY:
        return False
    stale = Q(refused_at=None) | Q(refused_at__lt=now - _REFUSAL_IS_NOTED_EVERY)
    return bool(ApiKey.objects.filter(stale, pk=key.pk).update(refused_at=now))


def flag(secret: str) -> None:
    """This came over plain HTTP: whoever listened on the way has it. Its owner sees when that happened first."""
    ApiKey.objects.filter(hash=_hash(secret), flagged_at=None).update(flagged_at=timezone.now())


def revoke(keys: "models.QuerySet[ApiKey]") -> int:
    """They count no more. How many did until now; what was revoked before keeps its time."""
    return keys.filter(revoked_at=None).update(revoked_at=timezone.now())


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode(errors="replace")).hexdigest()
