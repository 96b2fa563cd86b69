"""Keys that the application and the database share, all derived from SECRET_KEY."""

import hashlib
import hmac
import time

from django.conf import settings

from .identity import Identity

# Longer than any transaction of a request.
LIFETIME_SECONDS = 3600
_BLOCK_BYTES = 64


def sign(identity: Identity, process_id: int) -> str:
    """Return the value of the setting `rag.identity`, which the SQL function `ragsite_identity` verifies.

    Args:
        identity: Whom row-level security is to check.
        process_id: The process id of the connection's server process. The value is valid on no other connection.

    Returns:
        An empty string for an identity without a user.
    """
    if identity.user is None:
        return ""
    expires_at = int(time.time()) + LIFETIME_SECONDS
    message = f"{identity.user}|{identity.key or ''}|{identity.action}|{expires_at}|{process_id}"
    signature = hmac.new(_derive_key("identity"), message.encode(), "sha256").hexdigest()
    return f"{message}|{signature}"


def identity_key_pads() -> tuple[bytes, bytes]:
    """Return the key as the inner and the outer pad of HMAC (RFC 2104), for SQL that only has SHA-256."""
    key = _derive_key("identity").ljust(_BLOCK_BYTES, b"\0")
    return bytes(byte ^ 0x36 for byte in key), bytes(byte ^ 0x5C for byte in key)


def role_password(role: str) -> str:
    """Return the password with which the web process connects as this role."""
    return _derive_key(f"password of {role}").hex()


def secret_key_fingerprint() -> str:
    """Return a value that differs for each SECRET_KEY, and does not reveal it."""
    return _derive_key("fingerprint").hex()[:16]


def _derive_key(purpose: str) -> bytes:
    """Return 32 bytes."""
    return hmac.new(settings.SECRET_KEY.encode(), f"ragsite.postgres: {purpose}".encode(), hashlib.sha256).digest()
