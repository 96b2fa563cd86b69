"""Errors as OpenAI's clients expect them: `{"error": {"message", "type", "param", "code"}}`."""

from typing import TypedDict

from rest_framework.response import Response

from rag.contracts.common.error_rendering import render_error
from rag.errors import InvalidRequest, RagError, UnknownSource

_INVALID = "invalid_request_error"
# Type and code by status. Other statuses below 500 are invalid requests, the rest are errors of the server.
_BY_STATUS = {
    401: ("authentication_error", "invalid_api_key"),
    403: ("permission_error", "permission_denied"),
    413: (_INVALID, "request_too_large"),
    429: ("rate_limit_error", "rate_limit_exceeded"),
    500: ("server_error", "server_error"),
    503: ("server_error", "service_unavailable"),
}


class Error(TypedDict):
    """`param`: the wrong field."""

    message: str
    type: str
    param: str | None
    code: str | None


class ErrorBody(TypedDict):
    error: Error


def format_error(
    status: int, message: str, details: dict[str, object], error: RagError | None = None
) -> dict[str, object]:
    default = (_INVALID, None) if status < 500 else ("server_error", "server_error")
    error_type, code = _BY_STATUS.get(status, default)
    if isinstance(error, UnknownSource):  # between finding a model and searching its data source
        code = "model_not_found"
    elif error is not None and not isinstance(error, InvalidRequest):
        code = error.code.lower()
    return {"error": {"message": message, "type": error_type, "param": details.get("field"), "code": code}}


def handle_exception(exception: Exception, context: dict[str, object]) -> Response | None:
    return render_error(exception, context, format_error)
