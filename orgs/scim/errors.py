"""Errors of SCIM (RFC 7644, 3.12)."""

import structlog
from django.db import OperationalError
from django.http import Http404
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import set_rollback

from ragsite.http.error_envelope import NO_DATABASE, Unavailable, retry_after

logger = structlog.get_logger(__name__)

_SCHEMA = "urn:ietf:params:scim:api:messages:2.0:Error"


class ScimError(exceptions.APIException):
    """A request that is refused.

    Attributes:
        scim_type: The keyword of RFC 7644, if there is one.
    """

    def __init__(self, status: int, message: str, scim_type: str = "") -> None:
        super().__init__(message)
        self.status_code, self.scim_type = status, scim_type


class TooManyLists(Unavailable):
    """No slot became free in time."""

    default_detail = "Too many lists are being read. Try again in a few seconds."


def not_found() -> ScimError:
    """The resource does not exist in this organisation."""
    return ScimError(404, "There is no such resource.")


def handle_exception(exception: Exception, context: dict[str, object]) -> Response | None:
    """Render an exception in SCIM's format; None for an unexpected one."""
    if isinstance(exception, Http404):
        exception = not_found()
    elif isinstance(exception, OperationalError):
        logger.warning("database_unavailable", exc_info=exception)
        exception = Unavailable(NO_DATABASE)
    if not isinstance(exception, exceptions.APIException):
        return None
    set_rollback()
    status = exception.status_code
    detail = exception.detail if isinstance(exception.detail, str) else "The request is not valid."
    body = {"schemas": [_SCHEMA], "status": str(status), "detail": detail}
    if scim_type := getattr(exception, "scim_type", "invalidSyntax" if status == 400 else ""):
        body["scimType"] = scim_type
    challenge = {"WWW-Authenticate": 'Bearer realm="scim"'} if status == 401 else {}
    return Response(body, status=status, headers=challenge | retry_after(exception))
