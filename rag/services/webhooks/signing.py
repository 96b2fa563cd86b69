"""Secrets and signatures of webhooks, by the Standard Webhooks specification (https://www.standardwebhooks.com)."""

import base64
import hashlib
import hmac
import secrets

_PREFIX = "whsec_"
_SECRET_BYTES = 32


def generate_secret() -> str:
    """Return a new secret: `whsec_` and 32 random bytes in base64."""
    return _PREFIX + base64.b64encode(secrets.token_bytes(_SECRET_BYTES)).decode()


def sign(secret: str, *, message_id: str, timestamp: int, body: bytes) -> str:
    """Return the signature of a message for the header `webhook-signature`.

    Args:
        secret: A secret of `generate_secret`.
        message_id: The header `webhook-id`, which is the same in all attempts.
        timestamp: The header `webhook-timestamp`: when this attempt is made, in Unix seconds.
        body: The body as it is sent.
    """
    key = base64.b64decode(secret.removeprefix(_PREFIX))
    signed = b".".join([message_id.encode(), str(timestamp).encode(), body])
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
