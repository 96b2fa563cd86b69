"""What no request may do, whatever it asks for, and what every answer carries."""

import io
import re
from collections.abc import Callable

from django.conf import settings
from django.core.signals import request_finished
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse
from django_structlog.middlewares import RequestMiddleware

from rag.contracts import error_responses
from rag.contracts.common import rate_limits
from ragsite.http.request_id import request_id
from ragsite.http.uploads import Bounded, too_long

from .postgres import identity

GetResponse = Callable[[HttpRequest], HttpResponse]


class RequestLog(RequestMiddleware):
    """django_structlog's lines, with the path alone: what stands behind its `?` is what somebody looks for, and now
    and then a credential."""

    @staticmethod
    def format_request(request: HttpRequest) -> str:
        return f"{request.method} {request.path}"


# Where files come in.
_UPLOADS = re.compile(r"/api/rag/ingest/?|/admin/rag/datasource/[^/]+/upload/")


class BoundedUtf8Requests:
    """Refuses bodies over RAG_MAX_BODY_BYTES unread (413), where files come in over RAG_MAX_UPLOAD_BYTES, and reads
    every request as UTF-8.

    Python knows a codec, punycode, that takes quadratic time (ragsite/wsgi.py keeps those away that are no text).
    """

    def __init__(self, get_response: GetResponse) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        request.encoding = "utf-8"
        uploads = _UPLOADS.fullmatch(request.path_info)
        form = request.content_type == "multipart/form-data"
        setting = "RAG_MAX_UPLOAD_BYTES" if uploads and form else "RAG_MAX_BODY_BYTES"
        limit: int = getattr(settings, setting)
        length = request.META.get("CONTENT_LENGTH") or "0"
        if length.isdigit() and int(length) > limit:
            return error_responses.error_response(request, 413, too_long(limit, setting, int(length)))
        if uploads and length == "0" and _ends_by_itself(request):
            # Django reads as much as is declared: here up to the limit, and the server says where the body ends.
            request.META["CONTENT_LENGTH"] = str(limit)
            request._stream = io.BufferedReader(Bounded(request.META["wsgi.input"], limit, setting))
        return self._get_response(request)


def _ends_by_itself(request: HttpRequest) -> bool:
    """Sent in pieces (Transfer-Encoding: chunked), which the server puts together."""
    return bool(request.META.get("wsgi.input_terminated") and request.META.get("HTTP_TRANSFER_ENCODING"))


# None of our pages asks for any of them.
_NO_DEVICES = "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()"


class AnswerHeaders:
    """The id under which the log has the request, what is left of its budget, and what its page may not use: on every
    answer, whoever made it."""

    def __init__(self, get_response: GetResponse) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self._get_response(request)
        response["X-Request-ID"] = request_id()
        response["Permissions-Policy"] = _NO_DEVICES
        for name, value in rate_limits.headers(request).items():
            response[name] = value
        return response


class StatedIdentity:
    """A request is nobody's until a credential is shown (orgs.authentication); the admin's pages for staff see
    what the admin shows. It ends with the response, a streamed one's last word included."""

    def __init__(self, get_response: GetResponse) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        identity.set_current(identity.NOBODY)
        return self._get_response(request)

    def process_view(self, request: HttpRequest, *_: object) -> None:
        match, user = request.resolver_match, request.user
        if match and "admin" in match.app_names and user.is_active and user.is_staff:
            identity.set_current(identity.WORKER)


@receiver(request_finished)
def end_identity(**_: object) -> None:
    identity.set_current(None)


# Where no caller is known yet, or none is counted: counted for the address.
_COUNTED_BY_ADDRESS = re.compile(r"/api/auth/|/(readyz|api/schema|api/docs|admin/login)(/|$)")


class AddressBudgets:
    """Whoever asks the open paths too often from one address is refused (429)."""

    def __init__(self, get_response: GetResponse) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if _COUNTED_BY_ADDRESS.match(request.path_info):
            seconds = rate_limits.seconds_to_wait(request)
            if seconds:
                most = settings.RAG_REQUESTS_PER_MINUTE["ip"]
                refused = error_responses.error_response(request, 429, f"At most {most} requests a minute are answered here.")
                refused["Retry-After"] = str(seconds)
                return refused
        return self._get_response(request)
