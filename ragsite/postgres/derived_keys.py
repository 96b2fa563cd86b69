"""Keys that the application and the database share, all derived from SECRET_KEY.

The keys of stored secrets, also those of an earlier SECRET_KEY, are in `encryption.py`.
"""

import hashlib
import hmac

from django.conf import settings

_BLOCK_BYTES = 64


def identity_key_pads() -> tuple[bytes, bytes]:
    """Return the key as the inner and the outer pad of HMAC (RFC 2104), for SQL that only has SHA-256."""
    key = derive_key("identity").ljust(_BLOCK_BYTES, b"\0")
    return bytes(byte ^ 0x36 for byte in key), bytes(byte ^ 0x5C for byte in key)


def role_password(role: str) -> str:
    """Return the password with which the web process connects as this role."""
    return derive_key(f"password of {role}").hex()


def secret_key_fingerprint() -> str:
    """Return a value that differs for each SECRET_KEY, and does not reveal it."""
    return derive_key("fingerprint").hex()[:16]


def derive_key(purpose: str) -> bytes:
    """Return a key of 32 bytes for this purpose."""
    return hmac.new(settings.SECRET_KEY.encode(), f"ragsite.postgres: {purpose}".encode(), hashlib.sha256).digest()
