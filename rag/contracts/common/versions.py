"""ETag and If-Match (RFC 9110, 8.8.3 and 13.1.1) of data sources and documents."""

import re

from drf_spectacular.utils import OpenApiParameter
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

from rag.models import DataSource, Document
from rag.services.sources import versions

# A proxy that compresses a response makes its ETag weak. It names the same version of the row.
_ETAG = re.compile(r'(?:W/)?"([^"]*)"')
_MAX_CHARACTERS = 2_000
IF_MATCH = OpenApiParameter(
    "If-Match",
    str,
    OpenApiParameter.HEADER,
    description="The `ETag` of the version to change or delete. A 412 if it has changed meanwhile.",
)


def etag(row: DataSource | Document) -> dict[str, str]:
    """Return the response header that names the row's version."""
    return {"ETag": f'"{versions.version_of(row)}"'}


def expected_versions(request: Request) -> frozenset[str] | None:
    """Return the versions that If-Match names; None without the header, or for `*`.

    Raises:
        ValidationError: If the header is not a list of ETags.
    """
    header = request.headers.get("If-Match", "*").strip()
    if header == "*":
        return None
    entries = [entry.strip() for entry in header[:_MAX_CHARACTERS].split(",")]
    matches = [_ETAG.fullmatch(entry) for entry in entries]
    if len(header) > _MAX_CHARACTERS or not all(matches):
        raise ValidationError({"If-Match": 'If-Match must be an ETag such as "5f3a", a list of them, or *'})
    return frozenset(match[1] for match in matches if match)
