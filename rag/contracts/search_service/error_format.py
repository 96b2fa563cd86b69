"""The search service's errors: `error` is a code in snake_case (contract, "Common Error Codes")."""

from rest_framework.response import Response

from rag.contracts.common.error_rendering import render_error
from rag.errors import RagError, UnknownQuery
from ragsite.http.error_envelope import error_body

_CODES = {
    400: "invalid_request",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    413: "payload_too_large",
    415: "unsupported_media_type",
    422: "unprocessable",
    429: "rate_limit_exceeded",
    503: "service_unavailable",
    507: "insufficient_storage",
}


def format_error(
    status: int, message: str, details: dict[str, object], error: RagError | None = None
) -> dict[str, object]:
    code = _CODES.get(status, "internal_error")
    if isinstance(error, UnknownQuery):
        code = "query_not_found"
    elif status == 400 and details.get("field") == "query":
        code = "invalid_query"
    return error_body(code, message, details)


def handle_exception(exception: Exception, context: dict[str, object]) -> Response | None:
    return render_error(exception, context, format_error)
