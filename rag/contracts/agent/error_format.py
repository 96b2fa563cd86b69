"""The agent contract's errors: `{"error": {"type", "message", "details", "timestamp"}}` ("Standard Error Format")."""

from http import HTTPStatus

from django.utils import timezone
from rest_framework.response import Response

from rag.contracts.common.error_rendering import http_status, render_error
from rag.errors import (
    DatabaseUnavailable,
    EmbeddingFailed,
    ErrorKind,
    GroundingFailed,
    IndexUnavailable,
    NotGrounded,
    ProviderFailed,
    RagError,
    RerankFailed,
)

# The first matching class counts.
_TYPES_BY_CLASS: tuple[tuple[type[RagError], str], ...] = (
    (DatabaseUnavailable, "SERVICE_UNAVAILABLE"),
    (IndexUnavailable, "RETRIEVAL_FAILED"),
    (EmbeddingFailed, "RETRIEVAL_FAILED"),
    (RerankFailed, "RETRIEVAL_FAILED"),
    (GroundingFailed, "GROUNDING_FAILED"),
    (NotGrounded, "GROUNDING_FAILED"),
)
_TYPES_BY_STATUS = {
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


def format_error(
    status: int, message: str, details: dict[str, object], error: RagError | None = None
) -> dict[str, object]:
    return {
        "error": {
            "type": _error_type(status, error),
            "message": message,
            "details": details or None,
            "timestamp": timezone.now().isoformat(),
        }
    }


def _error_type(status: int, error: RagError | None) -> str:
    """Return the type of the error's class, if there is one, else that of the status.

    A 429 always has the type of its status: the server is busy, and nothing has failed, whatever the class is.
    """
    type_of_status = _TYPES_BY_STATUS.get(status, "AGENT_ERROR")
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return type_of_status
    return next((name for error_class, name in _TYPES_BY_CLASS if isinstance(error, error_class)), type_of_status)


def handle_exception(exception: Exception, context: dict[str, object]) -> Response | None:
    return render_error(exception, context, format_error, _status)


def _status(error: RagError) -> int:
    """Return the status of an error. Contract: "500: Agent processing error or service unavailable".

    Only the health check responds with 503. If this server is only busy, nothing has failed: that is a 429
    (docs/decisions/0063-busy-is-no-failure.md).
    """
    if isinstance(error, ProviderFailed) and error.is_own_limit:
        return HTTPStatus.TOO_MANY_REQUESTS
    return 500 if error.kind is ErrorKind.UNAVAILABLE else http_status(error)
