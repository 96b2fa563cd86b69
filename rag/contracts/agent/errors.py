"""The agent contract's errors: `{"error": {"type", "message", "details", "timestamp"}}` ("Error Handling")."""

from typing import Any

import structlog
from django.utils import timezone
from rest_framework.exceptions import APIException
from rest_framework.response import Response

from rag.contracts.base import render

logger = structlog.get_logger(__name__)

_TYPES = {
    400: "INVALID_QUERY",
    401: "UNAUTHORIZED",
    403: "FORBIDDEN",
    404: "NOT_FOUND",
    405: "METHOD_NOT_ALLOWED",
    406: "NOT_ACCEPTABLE",
    413: "INVALID_QUERY",
    415: "INVALID_QUERY",
    422: "INVALID_QUERY",
    429: "RATE_LIMITED",
    503: "SERVICE_UNAVAILABLE",
}
# The core's codes that have a type of their own.
_FAILURES = {
    "EMBEDDING_FAILED": "RETRIEVAL_FAILED",
    "INDEX_UNAVAILABLE": "RETRIEVAL_FAILED",
    "GENERATION_FAILED": "AGENT_ERROR",
    "GROUNDING_FAILED": "GROUNDING_FAILED",
}


def handle(exception: Exception, context: dict[str, Any]) -> Response | None:
    """Every failure of processing, and every service that does not answer, is a 500."""
    response = render(exception, context, lambda error, status: error.code)
    if response is None:
        logger.exception("agent_errored")
        response = render(APIException("Something went wrong on this side."), context, lambda error, status: "")
    assert response is not None
    failure = _FAILURES.get(getattr(exception, "code", ""))
    response.data = {
        "error": {
            "type": failure or _TYPES.get(response.status_code, "AGENT_ERROR"),
            "message": response.data["message"],
            "details": response.data["details"] or None,
            "timestamp": timezone.now(),
        }
    }
    response.status_code = min(response.status_code, 500)
    return response
