"""Encrypts secrets that the database stores, with a key derived from SECRET_KEY: a copy of the database is no copy of
them. Keys in SECRET_KEY_FALLBACKS still decrypt.
"""

import base64
import hashlib
import hmac

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings


class UnreadableSecret(Exception):
    """The secret was encrypted with a SECRET_KEY that is no longer known."""


def encrypt(secret: str) -> str:
    return _cipher().encrypt(secret.encode()).decode()


def decrypt(token: str, *, max_age_seconds: int | None = None) -> str:
    """Return what `encrypt` was called with.

    Raises:
        UnreadableSecret: If no known key decrypts it, or it is older than `max_age_seconds`.
    """
    try:
        return _cipher().decrypt(token.encode(), ttl=max_age_seconds).decode()
    except InvalidToken:
        raise UnreadableSecret from None


def _cipher() -> MultiFernet:
    return MultiFernet([Fernet(_derive_key(key)) for key in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)])


def _derive_key(secret_key: str) -> bytes:
    """Return a Fernet key: 32 bytes in URL-safe base64."""
    digest = hmac.new(secret_key.encode(), b"ragsite: secrets in the database", hashlib.sha256).digest()
    return base64.urlsafe_b64encode(digest)
