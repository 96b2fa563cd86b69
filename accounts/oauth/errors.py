"""Errors of OAuth 2.1: a code and a description."""

from django.db import OperationalError
from django.http import JsonResponse
from rest_framework.response import Response

from ragsite.http.error_envelope import NO_DATABASE, Unavailable, retry_after


class OAuthError(Exception):
    """A request that the authorization server refuses (RFC 6749, section 5.2)."""

    def __init__(self, code: str, description: str, *, status: int = 400) -> None:
        super().__init__(description)
        self.code, self.description, self.status = code, description, status

    def response(self) -> JsonResponse:
        """Return the error as the protocol's JSON."""
        return JsonResponse(error_body(self.code, self.description), status=self.status)


def error_body(code: str, description: str) -> dict[str, str]:
    return {"error": code, "error_description": description}


def handle_exception(exception: Exception, context: dict[str, object]) -> Response | None:
    """Render an error that occurred outside of the views."""
    if isinstance(exception, OperationalError):
        exception = Unavailable(NO_DATABASE)
    status = getattr(exception, "status_code", 400)
    code = "temporarily_unavailable" if status in (429, 503) else "invalid_request"
    return Response(error_body(code, str(exception)), status=status, headers=retry_after(exception))
