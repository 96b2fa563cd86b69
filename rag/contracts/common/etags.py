"""ETag, If-Match and If-None-Match (RFC 9110, 8.8.3, 13.1.1 and 13.1.2).

The ETag of a data source or document is `"<version of the row>.<digest of the body>"`. If-Match compares the version
only: what else a body has, such as who may query the source, depends on its reader. Every other response has a digest
only.
"""

import hashlib
import re

from django.http import HttpResponse, HttpResponseNotModified
from django.utils.http import parse_etags
from drf_spectacular.utils import OpenApiParameter
from rest_framework.exceptions import ValidationError
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.response import Response

from rag.models import DataSource, Document
from rag.services.sources import expected_version

# A proxy that compresses a response makes its ETag weak. It names the same version of the row.
_ETAG = re.compile(r'(?:W/)?"([^".]*)(?:\.[^"]*)?"')
_ANY_ETAG = r'(W/)?"[!#-~]*"'
_ETAGS = re.compile(rf"{_ANY_ETAG}( *, *{_ANY_ETAG})*")
_MAX_CHARACTERS = 2_000
IF_MATCH = OpenApiParameter(
    "If-Match",
    {"type": "string", "pattern": rf"^(\*|{_ETAGS.pattern})$"},
    OpenApiParameter.HEADER,
    description="The `ETag` of the version to change or delete. A 412 if it has changed meanwhile.",
)
ETAG = OpenApiParameter(
    "ETag", str, OpenApiParameter.HEADER, description="The version, for `If-Match`.", response=[200, 201]
)
_SUCCESSES = (200, 201)


def etag(row: DataSource | Document) -> dict[str, str]:
    """Return the response header that names the row's version."""
    return {"ETag": f'"{expected_version.version_of(row)}"'}


def expected_versions(request: Request) -> frozenset[str] | None:
    """Return the versions that If-Match names; None without the header, or for `*`.

    Raises:
        ValidationError: If the header is not a list of ETags.
    """
    header = request.headers.get("If-Match", "*").strip()
    if header == "*":
        return None
    if len(header) > _MAX_CHARACTERS or not _ETAGS.fullmatch(header):
        raise ValidationError({"If-Match": 'If-Match must be an ETag such as "5f3a", a list of them, or *'})
    return frozenset(match[1] for match in _ETAG.finditer(header))


def add_etag(request: Request, response: Response) -> None:
    """Add an ETag after the body is rendered. If If-None-Match names this ETag, the response becomes a 304.

    A response to POST or PATCH gets one only if it shows a data source or document.
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
