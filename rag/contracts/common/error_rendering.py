"""Renders exceptions as the errors of the contracts: HTTP statuses, bodies and Retry-After."""

from collections.abc import Callable

import structlog
from django.db import OperationalError
from rest_framework.response import Response
from rest_framework.views import set_rollback

from rag.errors import AccessEnded, DatabaseUnavailable, ErrorKind, ProviderFailed, RagError
from rag.providers.http import backoff
from ragsite.http import error_envelope
from ragsite.http.request_id import request_id
from ragsite.postgres.roles.refusals import is_refusal

logger = structlog.get_logger(__name__)

ErrorHandler = Callable[[Exception, dict[str, object]], Response | None]
# Formats an error body in a contract's format: HTTP status, message, details, and the RagError if it is one.
ErrorFormatter = Callable[[int, str, dict[str, object], RagError | None], dict[str, object]]

HTTP_STATUSES = {
    ErrorKind.INVALID: 400,
    ErrorKind.FORBIDDEN: 403,
    ErrorKind.NOT_FOUND: 404,
    ErrorKind.CONFLICT: 409,
    ErrorKind.OUTDATED: 412,
    ErrorKind.TOO_LARGE: 413,
    ErrorKind.UNSUPPORTED: 415,
    ErrorKind.UNPROCESSABLE: 422,
    ErrorKind.LIMITED: 429,
    ErrorKind.UNAVAILABLE: 503,
    ErrorKind.FULL: 507,
}


def http_status(error: RagError) -> int:
    """Return the HTTP status of an error, unless a contract defines another one."""
    return HTTP_STATUSES[error.kind]


def render_error(
    exception: Exception,
    context: dict[str, object],
    format_error: ErrorFormatter,
    get_status: Callable[[RagError], int] = http_status,
) -> Response | None:
    """Render an exception in a contract's error format. Every contract's exception handler calls this.

    Args:
        exception: What the view raised.
        context: DRF's handler context.
        format_error: Builds the contract's error body.
        get_status: The contract's HTTP status of a RagError.

    Returns:
        None for an unexpected exception: Django's 500 handler logs and renders it.
    """
    if isinstance(exception, OperationalError):
        exception = _database_unavailable(exception)
    elif is_refusal(exception):
        error_envelope.log_refusal(exception)
        exception = AccessEnded()
    if isinstance(exception, RagError):
        return _render_rag_error(exception, get_status(exception), format_error)
    response = error_envelope.exception_handler(exception, context)
    if response is not None:
        response.data = format_error(response.status_code, response.data["message"], response.data["details"], None)
    return response


def _database_unavailable(cause: OperationalError) -> DatabaseUnavailable:
    error = DatabaseUnavailable(error_envelope.NO_DATABASE)
    error.__cause__ = cause
    return error


def _render_rag_error(error: RagError, status: int, format_error: ErrorFormatter) -> Response:
    set_rollback()
    if status >= 500:
        _log_server_error(error)
    body = format_error(status, error.message, _error_details(error), error)
    return Response(body, status=status, headers=retry_headers(error, status))


def retry_headers(error: RagError, status: int) -> dict[str, str]:
    """Return the header Retry-After of a response with this status; none if a retry cannot succeed."""
    seconds = _retry_after_seconds(error) if status in (429, 503) else 0
    return {"Retry-After": str(seconds)} if seconds else {}


def _error_details(error: RagError) -> dict[str, object]:
    """Return the error's data, the field that it is about if there is one, and the id of the request."""
    field = getattr(error, "field", None)
    details: dict[str, object] = {"field": field, "message": error.message} if field else {}
    return {**details, **error.data, "request_id": request_id()}


def _log_server_error(error: RagError) -> None:
    cause = error.__cause__
    logger.warning(
        "server_error_returned",
        code=error.code,
        reason=error.message,
        cause=_name_cause(cause),
        exc_info=cause if isinstance(cause, OperationalError) else None,
    )


def _name_cause(cause: BaseException | None) -> str:
    """Return the class of the cause, whose message may have texts of callers; of a system call the reason, too."""
    reason = f": {cause.strerror}" if isinstance(cause, OSError) and cause.strerror else ""
    return type(cause).__name__ + reason if cause else ""


def _retry_after_seconds(error: RagError) -> int:
    """Return the seconds until a retry may succeed; 0 if it cannot succeed."""
    if not isinstance(error, ProviderFailed):
        return error_envelope.DEFAULT_RETRY_AFTER_SECONDS
    if not error.is_retryable:
        return 0
    seconds = error_envelope.whole_seconds(error.retry_after_seconds or 0)
    return max(error_envelope.DEFAULT_RETRY_AFTER_SECONDS, min(seconds, backoff.MAX_RETRY_AFTER_SECONDS))
