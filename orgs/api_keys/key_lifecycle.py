"""Issuing, rotating and revoking API keys. The key itself is shown once; only its hash is stored."""

import secrets
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from django.db import transaction
from django.db.models import Q, QuerySet, signals
from django.utils import timezone

from accounts.models import User
from orgs.models import ApiKey, Membership, Organization
from orgs.models.api_keys import PREFIX_CHARACTERS, ApiKeyQuerySet
from ragsite.postgres import identity
from ragsite.postgres.credential_fields import hash_secret
from ragsite.postgres.locks import advisory_xact_locks

from .check_key import PREFIX, SECRET_BYTES, is_usable

MAX_LIVE_KEYS = 100
# Revoked and expired keys that are kept of a user; the oldest are deleted first.
MAX_ENDED_KEYS = 500
MAX_SOURCES = 100
MAX_NETWORKS = 20
DEFAULT_OVERLAP = timedelta(hours=24)
MAX_OVERLAP = timedelta(days=30)


class TooManyKeys(Exception):
    """The user has MAX_LIVE_KEYS live keys already. The text is for the caller."""


class InactiveKey(Exception):
    """A key that does not work cannot be rotated. The text is for the caller."""


@dataclass(frozen=True, slots=True)
class IssuedKey:
    """A new key.

    Attributes:
        secret: The key itself. It is shown to its owner now and cannot be recovered later.
    """

    key: ApiKey
    secret: str = field(repr=False)


@transaction.atomic
def issue(
    *,
    user: User,
    organization: Organization,
    name: str,
    scopes: Iterable[str],
    sources: Iterable[uuid.UUID] | None = None,
    networks: Iterable[str] | None = None,
    expires_at: datetime | None = None,
    all_organizations: bool = False,
) -> IssuedKey:
    """Issue a key.

    Args:
        sources: Ids of the data sources that the key is restricted to; None for no restriction.
        networks: Networks (CIDR) that the key may be used from; None for no restriction.
        all_organizations: Whether the key may read in all organisations of the user.

    Raises:
        TooManyKeys: The user has reached MAX_LIVE_KEYS.
    """
    advisory_xact_locks([f"API keys of {user.pk}"])  # concurrent requests must not exceed the limit
    if ApiKey.objects.live().filter(user=user).count() >= MAX_LIVE_KEYS:
        raise TooManyKeys(f"You have {MAX_LIVE_KEYS} API keys, which is the maximum. Revoke one first.")
    _delete_oldest_ended_keys(user)
    secret = PREFIX + secrets.token_urlsafe(SECRET_BYTES)
    key = ApiKey.objects.create(
        user=user,
        organization=organization,
        all_organizations=all_organizations,
        name=name,
        prefix=secret[:PREFIX_CHARACTERS],
        hash=hash_secret(secret),
        scopes=list(dict.fromkeys(scopes)),
        source_ids=None if sources is None else list(dict.fromkeys(sources)),
        networks=None if networks is None else list(dict.fromkeys(networks)),
        expires_at=expires_at,
        lifetime=expires_at - timezone.now() if expires_at else None,
    )
    return IssuedKey(key, secret)


def _delete_oldest_ended_keys(user: User) -> None:
    ended_keys = ApiKey.objects.filter(user=user).exclude(pk__in=ApiKey.objects.live().filter(user=user).values("pk"))
    excess_ids = list(ended_keys.order_by("-pk").values_list("pk", flat=True)[MAX_ENDED_KEYS:])
    if excess_ids:
        ApiKey.objects.filter(pk__in=excess_ids).delete()


@transaction.atomic
def rotate(key: ApiKey, *, overlap: timedelta = DEFAULT_OVERLAP) -> IssuedKey:
    """Issue a successor with the same permissions and lifetime. The key expires after the overlap, or earlier.

    Raises:
        InactiveKey: The key is revoked, expired, or of an organisation that is closed to its user.
        TooManyKeys: The user has reached MAX_LIVE_KEYS. The key counts until it expires.
    """
    old_key = ApiKey.objects.live().select_for_update(of=("self",)).filter(pk=key.pk).first()
    if old_key is None:
        raise InactiveKey("This API key is revoked or expired. Create a new one.")
    if not is_usable(old_key):
        raise InactiveKey("The organisation of this API key is closed to you, so the key cannot be replaced.")
    expire_by(ApiKey.objects.filter(pk=old_key.pk), timezone.now() + overlap)
    return issue(
        user=old_key.user,
        organization=old_key.organization,
        name=old_key.name,
        scopes=old_key.scopes,
        sources=old_key.source_ids,
        networks=old_key.networks,
        all_organizations=old_key.all_organizations,
        expires_at=_end_of(old_key.lifetime) if old_key.lifetime else None,
    )


def _end_of(lifetime: timedelta) -> datetime:
    """Return when a key with this lifetime expires that is issued now: at the latest at the last possible time."""
    now = timezone.now()
    return now + min(lifetime, datetime.max.replace(tzinfo=UTC) - now)


def expire_by(keys: ApiKeyQuerySet, moment: datetime) -> int:
    """Let the keys expire at this moment, unless they expire earlier. Returns how many live keys were changed."""
    return keys.live().filter(Q(expires_at=None) | Q(expires_at__gt=moment)).update(expires_at=moment)


def revoke(keys: QuerySet[ApiKey]) -> int:
    """Revoke the keys. Those revoked earlier keep their time. Returns how many were changed."""
    return keys.filter(revoked_at=None).update(revoked_at=timezone.now())


@identity.run_as(identity.SIGN_IN)  # people who have left an organisation do not write its audit trail
def revoke_own(key: ApiKey) -> None:
    """Revoke a key for its user, who may have left its organisation or been deactivated there."""
    revoke(ApiKey.objects.filter(pk=key.pk))


def revoke_with_memberships() -> None:
    """Revoke a person's keys with their membership, which may be created again. Called once, when the app is ready."""
    signals.post_delete.connect(_revoke_of_membership, sender=Membership, dispatch_uid="API keys of a member")


def _revoke_of_membership(sender: type[Membership], instance: Membership, **_: object) -> None:
    with identity.run_as(identity.STAFF):  # somebody who removes themselves does not see the organisation any more
        revoke(ApiKey.objects.filter(user=instance.user_id, organization=instance.organization_id))
