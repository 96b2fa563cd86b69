"""ETag and If-Match of data sources and documents (RFC 9110, 8.8.3 and 13.1.1).

The ETag of a data source or document is `"<version of the row>.<digest of the body>"`. If-Match compares the version
only: what else a body has, such as who may query the source, depends on its reader. Every other response has a digest
only. ragsite/http/bodies/response_etags.py adds the digest and compares it with If-None-Match.
"""

import re

from drf_spectacular.utils import OpenApiParameter
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

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
