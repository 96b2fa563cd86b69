"""Checks the API key of a request: which one it is, whether it is usable, and when it was used or refused."""

import math
import re
import uuid
from datetime import timedelta

from django.db.models import Q
from django.utils import timezone

from orgs.models import ApiKey
from orgs.models.api_keys import RefusalReason
from ragsite.http.addresses import Address
from ragsite.postgres import identity
from ragsite.postgres.base import read_rows
from ragsite.postgres.credential_fields import hash_secret

from .read_key_in_one_statement import read_with_refusal_facts

# A key is the prefix and this many random bytes in base64url (RFC 4648, 5).
PREFIX, SECRET_BYTES = "rk_", 32
_REFUSAL_INTERVAL = timedelta(hours=1)
_KEY_PATTERN = re.compile(rf"{PREFIX}[A-Za-z0-9_-]{{{math.ceil(SECRET_BYTES * 8 / 6)}}}")


def find(secret: str, *, address: Address | None) -> tuple[ApiKey, RefusalReason | None] | None:
    """Find the key with this secret, and why it is refused now from this address.

    Returns:
        The key, with its user and organisation, and the reason, which is None for a usable key; None without a key.
    """
    if not _KEY_PATTERN.fullmatch(secret):
        return None
    ((key_id, user_id),) = read_rows("SELECT key_id, user_id FROM orgs_find_api_key(%s)", [hash_secret(secret)])
    if key_id is None:
        return None
    with identity.run_as(identity.of_user(user_id, key_id)):
        key, reason = _read_with_refusal_reason(key_id, address)
    if key is None or reason:  # its organisation may be closed to its user: read what the refusal is about
        with identity.run_as(identity.SIGN_IN):
            key, reason = _read_with_refusal_reason(key_id, address)
    return (key, reason) if key else None


def _read_with_refusal_reason(key_id: uuid.UUID, address: Address | None) -> tuple[ApiKey | None, RefusalReason | None]:
    key = read_with_refusal_facts(key_id)
    if key is None:
        return None, None
    return key, key.refusal_reason or (None if key.allows_address(address) else RefusalReason.NETWORK)


def is_usable(key: ApiKey) -> bool:
    """Return whether the key is still usable. Its networks do not matter: they admitted the request."""
    stored_key = ApiKey.objects.with_refusal_facts().filter(pk=key.pk).first()
    return stored_key is not None and stored_key.refusal_reason is None


def record_refusal(key: ApiKey) -> bool:
    """Set `refused_at`, at most once an hour for all processes together. Returns whether it was set."""
    now = timezone.now()
    if key.refused_at and key.refused_at >= now - _REFUSAL_INTERVAL:
        return False
    stale = Q(refused_at=None) | Q(refused_at__lt=now - _REFUSAL_INTERVAL)
    return bool(ApiKey.objects.filter(stale, pk=key.pk).update(refused_at=now))


def flag_insecure_use(secret: str) -> None:
    """Record that the key was sent over plain HTTP, where others may have read it. Its owner sees the first time."""
    with identity.run_as(identity.SIGN_IN):
        ApiKey.objects.filter(hash=hash_secret(secret), flagged_at=None).update(flagged_at=timezone.now())
