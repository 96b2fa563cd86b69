"""What no request may do, whatever it asks for, and what every answer carries."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django_structlog.middlewares import RequestMiddleware

from accounts.envelope import request_id
from rag.contracts import limits, refusals

GetResponse = Callable[[HttpRequest], HttpResponse]


class RequestLog(RequestMiddleware):
    """django_structlog's lines, with the path alone: what stands behind its `?` is what somebody looks for, and now
    and then a credential."""

    @staticmethod
    def format_request(request: HttpRequest) -> str:
        return f"{request.method} {request.path}"


class BoundedUtf8Requests:
    """Refuses bodies over RAG_MAX_BODY_BYTES unread (413), and reads every request as UTF-8.

    Python knows a codec, punycode, that takes quadratic time (ragsite/wsgi.py keeps those away that are no text).
    """

    def __init__(self, get_response: GetResponse) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        request.encoding = "utf-8"
        length = request.META.get("CONTENT_LENGTH") or "0"
        limit = settings.RAG_MAX_BODY_BYTES
        if length.isdigit() and int(length) > limit:
            message = f"The body has {int(length):,} bytes; at most {limit:,} are accepted. Send fewer at a time."
            return refusals.refusal(request, 413, message)
        return self._get_response(request)


class AnswerHeaders:
    """The id under which the log has the request, and what is left of its budget: on every answer, whoever made it."""

    def __init__(self, get_response: GetResponse) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self._get_response(request)
        response["X-Request-ID"] = request_id()
        for name, value in limits.headers(request).items():
            response[name] = value
        return response
