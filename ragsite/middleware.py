"""What no request may do, whatever it asks for."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse

from accounts.envelope import TITLES, envelope


class BoundedUtf8Requests:
    """Refuses bodies over RAG_MAX_BODY_BYTES unread (413), and reads every request as UTF-8.

    Python knows a codec, punycode, that takes quadratic time (ragsite/wsgi.py keeps those away that are no text).
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        request.encoding = "utf-8"
        length = request.META.get("CONTENT_LENGTH") or "0"
        limit = settings.RAG_MAX_BODY_BYTES
        if length.isdigit() and int(length) > limit:
            message = f"The body has {int(length):,} bytes; at most {limit:,} are accepted. Send fewer at a time."
            return JsonResponse(envelope(TITLES[413], message), status=413)
        return self._get_response(request)
