"""The signed identity of a transaction, which row-level security verifies (docs/decisions/0043-injected-sql.md)."""

import hmac
import time

from .derived_keys import derive_key
from .identity import Identity

# Longer than any transaction of a request.
LIFETIME_SECONDS = 3600


def sign(identity: Identity, process_id: int) -> str:
    """Return the value of the setting `rag.identity`, which the SQL function `ragsite_identity` verifies.

    Args:
        identity: The identity that row-level security is to check.
        process_id: The process id of the connection's server process. The value is valid on no other connection.

    Returns:
        An empty string for an identity without a user.
    """
    if identity.user is None:
        return ""
    expires_at = int(time.time()) + LIFETIME_SECONDS
    message = f"{identity.user}|{identity.key or ''}|{identity.action}|{expires_at}|{process_id}"
    signature = hmac.new(derive_key("identity"), message.encode(), "sha256").hexdigest()
    return f"{message}|{signature}"
