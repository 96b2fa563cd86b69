"""The error envelope of every unsuccessful response under /api (docs/contracts/errors.md)."""

import math

import structlog
from django.core.exceptions import PermissionDenied as DjangoPermissionDenied
from django.db import OperationalError
from django.http import Http404, UnreadablePostError
from rest_framework import exceptions, status
from rest_framework.response import Response
from rest_framework.views import set_rollback

from ragsite.postgres.roles.refusals import is_refusal

from .request_id import request_id

logger = structlog.get_logger(__name__)

# The v3 contract's name of each status ("error: short error type").
TITLES = {
    400: "Validation error",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not found",
    405: "Method not allowed",
    409: "Conflict",
    412: "Precondition failed",
    413: "Payload too large",
    415: "Unsupported media type",
    422: "Unprocessable content",
    429: "Too many requests",
    500: "Internal server error",
    503: "Service unavailable",
    507: "Insufficient storage",
}

NO_DATABASE = "The database does not answer. Try again in a moment."
ACCESS_ENDED = "Your access ended, or changed, during this request. Ask again."
# After how long a client may try again: about the time that a restarting server is unavailable.
DEFAULT_RETRY_AFTER_SECONDS = 2
# What the message of a 405 does not propose.
_METHODS_OF_ALL_PATHS = {"HEAD", "OPTIONS"}
# A response lists at most this many errors of a body.
_MAX_ERRORS = 20
# The beginnings of DRF's own messages, which do not name the field and speak of Python's types, and what they mean.
_DRF_MESSAGES = {
    "This field is required.": "is required",
    "This field may not be null.": "must not be null",
    "Invalid data. Expected a dictionary": "must be an object",
    "Null characters are not allowed.": "must not contain NUL characters",
    "Surrogate characters are not allowed": "must not contain unpaired surrogates",
}


def error_body(title: str, message: str, details: dict[str, object] | None = None) -> dict[str, object]:
    """Build the body of an error response: `{"error", "message", "details"}`."""
    return {"error": title, "message": message, "details": details or {}}


def field_errors(detail: object, path: str = "") -> list[dict[str, str]]:
    """Flatten DRF's nested error detail to a list of {"field", "message"}, in the order of the serializer's fields.

    Nested fields are written as `documents[3].text`; errors of the whole body have the field `body`.
    """
    if isinstance(detail, dict):
        errors = []
        for key, value in detail.items():
            if isinstance(key, int):
                name = f"{path}[{key}]"
            elif key == "non_field_errors":
                name = path or "body"
            else:
                name = f"{path}.{key}" if path else str(key)
            errors += field_errors(value, name)
        return errors
    if isinstance(detail, list):
        errors = []
        for index, value in enumerate(detail):
            errors += field_errors(value, f"{path}[{index}]" if isinstance(value, dict) else path)
        return errors
    return [{"field": path or "body", "message": _name_field(str(detail), path or "body")}]


def _name_field(message: str, field: str) -> str:
    """Return the message in the words of the contracts if it is one of DRF's own."""
    meanings = (meaning for beginning, meaning in _DRF_MESSAGES.items() if message.startswith(beginning))
    return next((f"{field} {meaning}" for meaning in meanings), message)


class Unavailable(exceptions.APIException):
    """503: a component is unavailable for the moment.

    Attributes:
        wait: Seconds after which the client may try again (Retry-After).
    """

    status_code = status.HTTP_503_SERVICE_UNAVAILABLE
    wait = DEFAULT_RETRY_AFTER_SECONDS


class TooManyRequests(exceptions.Throttled):
    """429: says in the contracts' words when to try again."""

    extra_detail_singular = "Try again in {wait} second."
    extra_detail_plural = "Try again in {wait} seconds."


class Conflict(exceptions.APIException):
    """409: the state of the object, or of what the caller has, does not allow the request."""

    status_code = status.HTTP_409_CONFLICT


def exception_handler(exception: Exception, context: dict[str, object]) -> Response | None:
    """Render an exception as the error envelope (DRF's EXCEPTION_HANDLER).

    Returns:
        None for an unexpected exception, so that the 500 handler logs it and responds.
    """
    if isinstance(exception, Http404):
        exception = exceptions.NotFound("There is no such thing here.")
    elif isinstance(exception, DjangoPermissionDenied):
        exception = exceptions.PermissionDenied()
    elif isinstance(exception, UnreadablePostError):  # the client has left, or takes too long
        exception = exceptions.ParseError("it breaks off.")
    elif isinstance(exception, OperationalError):
        logger.exception("database_unavailable")
        exception = Unavailable(NO_DATABASE)
    elif is_refusal(exception):
        log_refusal(exception)
        exception = exceptions.PermissionDenied(ACCESS_ENDED)
    if not isinstance(exception, exceptions.APIException):
        return None
    set_rollback()
    code = exception.status_code
    if isinstance(exception, exceptions.ParseError) and code == status.HTTP_400_BAD_REQUEST:
        exception = exceptions.ValidationError({"body": f"The body is not valid JSON: {exception.detail}"})
    title = TITLES.get(code, "Error")
    if isinstance(exception, exceptions.ValidationError):
        first, *others = field_errors(exception.detail)
        errors = {"errors": [first, *others[: _MAX_ERRORS - 1]]} if others else {}
        body = error_body(title, first["message"], {**first, **errors, "request_id": request_id()})
    else:
        body = error_body(title, _message(exception, context), {"request_id": request_id()})
    challenge = getattr(exception, "auth_header", None)
    headers = {"WWW-Authenticate": challenge} if challenge else {}
    return Response(body, status=code, headers=headers | retry_after(exception))


def log_refusal(error: Exception) -> None:
    """Log what the database has refused: if access has not ended, both access layers decide differently."""
    logger.warning("write_refused_by_database", exc_info=error)


def retry_after(exception: Exception) -> dict[str, str]:
    """Return the header that says after how many seconds a client may try again; nothing if the exception does not."""
    wait = getattr(exception, "wait", None)
    return {"Retry-After": str(whole_seconds(wait))} if wait else {}


def whole_seconds(seconds: float) -> int:
    """Return a time in whole seconds, as `Retry-After` and messages have it.

    It is rounded up, so that no client retries too early, and at least 1: after 0 a client would try again at once.
    """
    return max(1, math.ceil(seconds))


def _message(exception: exceptions.APIException, context: dict[str, object]) -> str:
    detail: object = exception.detail
    if isinstance(detail, dict):  # simplejwt: {"detail", "code", "messages"}
        detail = detail.get("detail", "")
    if isinstance(exception, exceptions.NotAuthenticated):
        return (
            "Send an access token (POST /api/auth/token gives one) or an API key in the header "
            "`Authorization: Bearer <token or key>`."
        )
    if isinstance(exception, exceptions.MethodNotAllowed):
        allowed = getattr(context.get("view"), "allowed_methods", ())
        methods = " or ".join(method for method in allowed if method not in _METHODS_OF_ALL_PATHS)
        return f"{detail} Use {methods}." if methods else str(detail)
    if isinstance(exception, exceptions.UnsupportedMediaType):
        if '""' in str(detail):  # there is no Content-Type
            detail = "The request does not say what its body is."
        return f"{detail} Send the body as JSON, with the header `Content-Type: application/json`."
    return str(detail)
