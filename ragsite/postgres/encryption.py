"""Encrypts secrets with keys derived from SECRET_KEY, one for each purpose. Keys in SECRET_KEY_FALLBACKS still decrypt.

A copy of the database does not reveal the secrets in it. What was encrypted for one purpose is unreadable for others: a
row cannot be used as a cookie, nor one kind of secret as another.
"""

import base64
import enum
import hashlib
import hmac

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings

# The only purpose of earlier versions: secrets of webhooks and identity providers, and cookies.
_FORMER_PURPOSE = "secrets in the database"


class Purpose(enum.Enum):
    """What a secret is used for. The value is part of its key and must never change."""

    WEBHOOK = "secrets of webhooks"
    IDENTITY_PROVIDER = "secrets of identity providers"
    SYNC = "secrets of syncs"
    SIGN_IN_COOKIE = "cookies of sign-ins at identity providers"
    SIGN_OUT = "sign-outs at SAML providers"


class UnreadableSecret(Exception):
    """The secret was encrypted with a SECRET_KEY that is no longer known, or for another purpose."""


def encrypt(secret: str, purpose: Purpose) -> str:
    return _cipher(purpose.value).encrypt(secret.encode()).decode()


def decrypt(token: str, purpose: Purpose, *, max_age_seconds: int | None = None) -> str:
    """Return what `encrypt` was called with. It also reads stored secrets of earlier versions, which had one purpose.

    Raises:
        UnreadableSecret: If no known key decrypts it, or it is older than `max_age_seconds`.
    """
    is_stored = purpose not in (Purpose.SIGN_IN_COOKIE, Purpose.SIGN_OUT)
    readable = [purpose.value, _FORMER_PURPOSE] if is_stored else [purpose.value]
    try:
        return _cipher(*readable).decrypt(token.encode(), ttl=max_age_seconds).decode()
    except InvalidToken:
        raise UnreadableSecret from None


def _cipher(*purposes: str) -> MultiFernet:
    """Return a cipher that decrypts with all keys of these purposes, and encrypts with the first one."""
    secret_keys = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    return MultiFernet([Fernet(_derive_key(key, purpose)) for purpose in purposes for key in secret_keys])


def _derive_key(secret_key: str, purpose: str) -> bytes:
    """Return a Fernet key: 32 bytes in URL-safe base64."""
    digest = hmac.new(secret_key.encode(), f"ragsite: {purpose}".encode(), hashlib.sha256).digest()
    return base64.urlsafe_b64encode(digest)
