"""The header `Idempotency-Key` of requests that create something (draft-ietf-httpapi-idempotency-key-header)."""

import hashlib
import json
import re
import uuid
from collections.abc import Callable
from dataclasses import dataclass

from django.core.files.uploadedfile import UploadedFile
from django.http import QueryDict
from drf_spectacular.utils import OpenApiParameter
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.encoders import JSONEncoder

from orgs.access import organization_resolver
from orgs.access.caller import get_caller
from rag.services import idempotency
from rag.services.idempotency import StoredResponse

HEADER = "Idempotency-Key"
# The draft's form is a string in quotes. Many clients send none.
_KEY = re.compile(r'"([!#-\[\]-~ ]{1,255})"|([!#-~]{1,255})')
_REPLAYED = {"Idempotent-Replayed": "true"}
PARAMETER = OpenApiParameter(
    HEADER,
    {"type": "string", "pattern": f"^({_KEY.pattern})$"},
    OpenApiParameter.HEADER,
    description="A key of your choice, such as a UUID. If the request is sent again with it within 24 hours, the "
    "response of the first one is returned, and nothing is created twice. 422 if it was sent with another request, 409 "
    "while that request runs.",
)


@dataclass(frozen=True, slots=True)
class Created:
    """The response of a request, and what returns the id of the data source in which it has created something."""

    response: Response
    find_source: Callable[[], uuid.UUID]


def run_once(request: Request, create: Callable[[], Created]) -> Response:
    """Run a request, or return the stored response if it was sent before with the same Idempotency-Key.

    Raises:
        ValidationError: If the key is malformed.
        RagError: See rag.services.idempotency.claim.
    """
    key = _read_key(request)
    if not key:
        return create().response
    claim = idempotency.claim(get_caller(request), key, _fingerprint(request))
    if isinstance(claim, StoredResponse):
        return Response(json.loads(claim.body), status=claim.status, headers={**claim.headers, **_REPLAYED})
    try:
        with idempotency.keep(claim):
            created = create()
    except BaseException:
        idempotency.release(claim)
        raise
    response = created.response
    body = json.dumps(response.data, cls=JSONEncoder)
    stored = StoredResponse(response.status_code, body, dict(response.headers), created.find_source())
    idempotency.finish(get_caller(request), claim, stored)
    return response


def _read_key(request: Request) -> str:
    header = request.headers.get(HEADER)
    if header is None:
        return ""
    match = _KEY.fullmatch(header.strip())
    if match is None:
        raise ValidationError({HEADER: f"{HEADER} must have 1 to 255 characters of ASCII"})
    return match[1] or match[2]


def _fingerprint(request: Request) -> str:
    """Return a digest of the request, whatever the white space of its JSON or the boundary of its form."""
    organization = organization_resolver.read_header(request)
    parts = [request.method, request.path.rstrip("/"), organization, _describe_body(request)]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _describe_body(request: Request) -> object:
    if not isinstance(request.data, QueryDict):
        return request.data
    files = [[name, file.name, _digest(file)] for name, group in request.FILES.lists() for file in group]
    return {"fields": dict(request.POST.lists()), "files": files}


def _digest(file: "UploadedFile[bytes]") -> str:
    digest = hashlib.sha256()
    for chunk in file.chunks():
        digest.update(chunk)
    file.seek(0)
    return digest.hexdigest()
