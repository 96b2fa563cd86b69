"""The agent contract's errors: `{"error": {"type", "message", "details", "timestamp"}}` ("Standard Error Format")."""

from typing import Any

from django.utils import timezone
from rest_framework.response import Response

from rag.contracts.common.base import render, status_of
from rag.errors import (
    DatabaseUnavailable,
    EmbeddingFailed,
    GroundingFailed,
    IndexUnavailable,
    Kind,
    NotGrounded,
    RagError,
    RerankFailed,
)

# The first that fits decides; what is not here goes by its status.
_TYPES: tuple[tuple[type[RagError], str], ...] = (
    (DatabaseUnavailable, "SERVICE_UNAVAILABLE"),
    (IndexUnavailable, "RETRIEVAL_FAILED"),
    (EmbeddingFailed, "RETRIEVAL_FAILED"),
    (RerankFailed, "RETRIEVAL_FAILED"),
    (GroundingFailed, "GROUNDING_FAILED"),
    (NotGrounded, "GROUNDING_FAILED"),
)
_TYPES_OF_STATUS = {
    400: "INVALID_QUERY",
    401: "UNAUTHORIZED",
    403: "FORBIDDEN",
    404: "NOT_FOUND",
    405: "METHOD_NOT_ALLOWED",
    413: "PAYLOAD_TOO_LARGE",
    415: "UNSUPPORTED_MEDIA_TYPE",
    422: "INVALID_QUERY",
    429: "RATE_LIMITED",
    503: "SERVICE_UNAVAILABLE",
}


def body(status: int, message: str, details: dict[str, Any], error: RagError | None = None) -> dict[str, Any]:
    by_class = next((name for kind, name in _TYPES if isinstance(error, kind)), None)
    return {
        "error": {
            "type": by_class or _TYPES_OF_STATUS.get(status, "AGENT_ERROR"),
            "message": message,
            "details": details or None,
            "timestamp": timezone.now().isoformat(),
        }
    }


def handle(exception: Exception, context: dict[str, Any]) -> Response | None:
    return render(exception, context, body, _status)


def _status(error: RagError) -> int:
    """ "500: Agent processing error or service unavailable"; 503 is the health check's alone."""
    return 500 if error.kind is Kind.UNAVAILABLE else status_of(error)
