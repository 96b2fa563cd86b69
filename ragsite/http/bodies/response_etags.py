"""ETag and If-None-Match (RFC 9110, 8.8.3 and 13.1.2): what the client has already is not sent again."""

import hashlib

from django.http import HttpResponse, HttpResponseNotModified
from django.utils.http import parse_etags
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

_MAX_CHARACTERS = 2_000
_SUCCESSES = (200, 201)


class ETagView(APIView):
    """A view whose JSON responses have an ETag, except those that no cache may store."""

    has_etag = True

    def finalize_response(self, request: Request, response: Response, *args: object, **kwargs: object) -> Response:
        response = super().finalize_response(request, response, *args, **kwargs)
        # A stream is not a response of DRF.
        if self.has_etag and isinstance(response, Response) and "no-store" not in response.get("Cache-Control", ""):
            add_etag(request, response)
        return response


def add_etag(request: Request, response: Response) -> None:
    """Add an ETag after the body is rendered. If If-None-Match names this ETag, the response becomes a 304.

    A response to POST or PATCH gets one only if it states a version already.
    """
    if response.status_code in _SUCCESSES and (request.method in SAFE_METHODS or "ETag" in response.headers):
        response.add_post_render_callback(lambda rendered: _complete_etag(request, rendered))


def _complete_etag(request: Request, response: HttpResponse) -> HttpResponse | None:
    """Add the body's digest to the ETag. Return the 304 to send instead if the client has this version; else None."""
    digest = hashlib.sha256(response.content).hexdigest()[:16]
    version = response.headers.get("ETag", "").strip('"')
    response.headers["ETag"] = f'"{version}.{digest}"' if version else f'"{digest}"'
    # Responses are personal. A cache may keep one for its user, and asks each time whether it is still right.
    response.headers.setdefault("Cache-Control", "private, no-cache")
    if request.method not in SAFE_METHODS or not _is_known(request, response.headers["ETag"]):
        return None
    unchanged = HttpResponseNotModified()
    for name in ("ETag", "Cache-Control", "Vary"):
        if value := response.headers.get(name):
            unchanged.headers[name] = value
    return unchanged


def _is_known(request: Request, etag: str) -> bool:
    """Return whether If-None-Match names this ETag (weak comparison, RFC 9110, 8.8.3.2)."""
    header = request.headers.get("If-None-Match", "")[:_MAX_CHARACTERS]
    etags = parse_etags(header)
    return "*" in etags or etag in (known.removeprefix("W/") for known in etags)
