"""The id of the current request, which every log line and response carries."""

import structlog


def request_id() -> str:
    """Return the id of the current request; empty outside of a request."""
    return str(structlog.contextvars.get_contextvars().get("request_id", ""))
