"""The pipeline contract's errors: `error` is a code (contract, "Failure Summary")."""

from rest_framework.response import Response

from rag.contracts.common.error_rendering import render_error
from rag.errors import RagError
from ragsite.http.error_envelope import error_body

# Errors before a request reaches the pipeline: the contract has no code for them.
_CODES = {
    400: "INVALID_REQUEST",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    405: "METHOD_NOT_ALLOWED",
    409: "CONFLICT",
    412: "VERSION_CHANGED",
    413: "PAYLOAD_TOO_LARGE",
    415: "UNSUPPORTED_MEDIA_TYPE",
    429: "RATE_LIMITED",
    500: "INTERNAL_ERROR",
}


def format_error(
    status: int, message: str, details: dict[str, object], error: RagError | None = None
) -> dict[str, object]:
    return error_body(error.code if error else _CODES.get(status, "ERROR"), message, details)


def handle_exception(exception: Exception, context: dict[str, object]) -> Response | None:
    return render_error(exception, context, format_error)
