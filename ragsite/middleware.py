"""Middleware of the site: language, body limit, database identity, rate limit by address, headers."""

import io
import re
from collections.abc import Callable

from django.conf import settings
from django.core.signals import request_finished
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.locale import LocaleMiddleware
from django.utils import translation

from rag.contracts import fallback_errors
from rag.contracts.common import rate_limits
from rag.errors import TooManyReads
from rag.pages.base import refuse_beyond, render_error
from rag.providers.limits import read_limiter
from ragsite.http import request_warnings
from ragsite.http.bodies.parsers import CHUNKED_META_KEY, release_slot
from ragsite.http.bodies.upload_handler import MAX_FORM_BYTES, BoundedBody, body_too_large_message
from ragsite.http.request_id import request_id

from .postgres import identity
from .postgres.replicas import routing

GetResponse = Callable[[HttpRequest], HttpResponse]

_UPLOAD_PATHS = re.compile(r"/api/rag/ingest/?|/admin/rag/datasource/[^/]+/upload/")
_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
# Other pages to which people send files.
_PAGES_WITH_FILES = re.compile(r"/admin/rag/datasource/[^/]+/quality/")
_MAX_BYTES_WITH_FILE = 3 * 1024 * 1024


class BodyLimitMiddleware:
    """Rejects a request body over its limit before it is read.

    That is RAG_MAX_BODY_BYTES, RAG_MAX_UPLOAD_BYTES for file uploads, and MAX_FORM_BYTES for the forms of pages.

    A chunked body has no length: reading stops at the limit. Pages outside the API do not read chunked bodies, except
    for file uploads.

    Also decodes every request as UTF-8: a client could otherwise choose a codec such as punycode, which takes
    quadratic time. (ragsite/wsgi.py removes codecs that do not produce text.)
    """

    def __init__(self, get_response: GetResponse) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        request.encoding = "utf-8"
        is_upload_path = _UPLOAD_PATHS.fullmatch(request.path_info) is not None
        limit, setting = _limit(request, is_upload_path=is_upload_path)
        # nginx refuses bodies before they arrive; it passes such a request on without the body.
        refused, _, refused_length = request.META.get("HTTP_X_RAGSITE_BODY_TOO_LARGE", "").partition(" ")
        if refused:
            number = int(refused_length) if refused_length.isdigit() else None
            return fallback_errors.error_response(request, 413, body_too_large_message(limit, setting, number))
        length = request.META.get("CONTENT_LENGTH") or "0"
        if length.isdigit() and int(length) > limit:
            message = body_too_large_message(limit, setting, int(length))
            return fallback_errors.error_response(request, 413, message)
        is_read = is_upload_path or fallback_errors.returns_json(request)
        if is_read and length == "0" and _is_chunked(request):
            # Django reads as many bytes as Content-Length says. Here it reads up to the limit, and the server ends
            # the stream.
            request.META[CHUNKED_META_KEY] = True
            request.META["CONTENT_LENGTH"] = str(limit)
            request._stream = io.BufferedReader(BoundedBody(request.META["wsgi.input"], limit, setting))
        try:
            return self._get_response(request)
        finally:
            release_slot(request.META)


def _limit(request: HttpRequest, *, is_upload_path: bool) -> tuple[int, str]:
    """Return how many bytes the body may have, and the name of that limit or its setting."""
    if is_upload_path and request.content_type == "multipart/form-data":
        return settings.RAG_MAX_UPLOAD_BYTES, "the limit of forms with files"
    if request.content_type in _FORMS:
        is_with_file = _PAGES_WITH_FILES.fullmatch(request.path_info) is not None
        limit = _MAX_BYTES_WITH_FILE if is_with_file else MAX_FORM_BYTES
        return min(limit, settings.RAG_MAX_BODY_BYTES), "the limit of forms"
    return settings.RAG_MAX_BODY_BYTES, "RAG_MAX_BODY_BYTES"


def _is_chunked(request: HttpRequest) -> bool:
    """Return whether the body came with `Transfer-Encoding: chunked`, and the server has joined the chunks."""
    return bool(request.META.get("wsgi.input_terminated") and request.META.get("HTTP_TRANSFER_ENCODING"))


# Health probes, which have no JSON error format.
_PATHS_OF_PROBES = re.compile(r"/(healthz|readyz)/?$")


class PageLanguageMiddleware(LocaleMiddleware):
    """Shows pages in the visitor's language: the language switch's cookie decides, then the browser's list.

    Responses to programs are always English, because clients compare messages.
    """

    def process_request(self, request: HttpRequest) -> None:
        if _is_page(request):
            super().process_request(request)
        else:
            translation.activate(settings.LANGUAGE_CODE)  # the thread's last request may have been for a German page

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        return super().process_response(request, response) if _is_page(request) else response


def _is_page(request: HttpRequest) -> bool:
    return not fallback_errors.returns_json(request) and not _PATHS_OF_PROBES.match(request.path_info)


# None of the site's pages uses any of these.
_PERMISSIONS_POLICY = "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()"


class ResponseHeadersMiddleware:
    """Adds the request id, warnings, the state of the rate limit and the permissions policy to every response.

    Responses to programs that name no caching are never stored: they depend on the caller, hold questions, passages and
    new tokens, and a cache does not know that `X-API-Key` is a credential (RFC 9111, section 3.5).
    """

    def __init__(self, get_response: GetResponse) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        request_warnings.start()
        response = self._get_response(request)
        if warnings := request_warnings.header_value():
            response[request_warnings.HEADER] = warnings
        response["X-Request-ID"] = request_id()
        response["Permissions-Policy"] = _PERMISSIONS_POLICY
        if fallback_errors.returns_json(request):
            response.headers.setdefault("Cache-Control", "no-store")
        for name, value in rate_limits.headers(request).items():
            response[name] = value
        return response


class DatabaseIdentityMiddleware:
    """Starts each request without a database identity.

    Authentication sets the caller's (orgs.authentication). Pages of the admin run as the staff role, which
    sees the organisations of its user. The identity is kept until a streamed response has ended.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        with identity.run_as(identity.SIGN_IN):  # reads the session and the account, if there is a session
            _ = request.user.is_authenticated
        identity.set_current(identity.ANONYMOUS)
        routing.start_request()
        try:
            response = self._get_response(request)
        finally:
            read_limiter.end(request.META)
        if not response.streaming:  # an answer; nothing else that a request changes or shows is streamed
            routing.end_request()
        return response

    def process_view(self, request: HttpRequest, *_: object) -> HttpResponse | None:
        match, user = request.resolver_match, request.user
        if match and "admin" in match.app_names:
            is_staff = user.is_active and user.is_staff
            identity.set_current(identity.of_staff(user.pk) if is_staff else identity.SIGN_IN)
            try:
                read_limiter.begin(request.META, user.pk if is_staff else None)
            except TooManyReads as error:
                return render_error(request, error)
            if is_staff and match.url_name != "logout":
                return refuse_beyond(rate_limits.CHANGES, request)
        return None


@receiver(request_finished)
def reset_identity(**_: object) -> None:
    """End the request's database identity. A streamed response needs it until here."""
    identity.set_current(None)


# Paths whose caller is not known yet, or is not counted.
_PATHS_LIMITED_BY_IP = re.compile(
    r"/api/auth/|/(readyz|api/schema|api/docs|admin/login|scim|oauth|\.well-known|sign-in|invitation)(/|$)"
)


class IpRateLimitMiddleware:
    """Limits requests to open paths by IP address, to the limit `ip` of RAG_REQUESTS_PER_MINUTE (429)."""

    def __init__(self, get_response: GetResponse) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if _PATHS_LIMITED_BY_IP.match(request.path_info):
            seconds = rate_limits.seconds_to_wait(request)
            if seconds:
                limit = settings.RAG_REQUESTS_PER_MINUTE["ip"]
                message = f"At most {limit} requests a minute are answered here."
                response = fallback_errors.error_response(request, 429, message)
                response["Retry-After"] = str(seconds)
                return response
        return self._get_response(request)
