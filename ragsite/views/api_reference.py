"""The API reference: /api/schema (OpenAPI) and /api/docs (Swagger UI). Both are public and the same for everybody."""

import functools
import hashlib
import json
import threading
from typing import Any

from django.http import HttpRequest
from django.utils.decorators import method_decorator
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import condition
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer, OpenApiJsonRenderer2
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularSwaggerSplitView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from ragsite.http.bodies.json_types import JsonObject

# Swagger UI sets inline styles from its script. All of its files are served by this site.
_CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

_generator_lock = threading.Lock()  # the generator is not thread-safe


def get_schema() -> JsonObject:
    """Return the OpenAPI document. It depends on the code only, so each process generates it once."""
    with _generator_lock:
        return _generate_schema()


@functools.cache
def _generate_schema() -> dict[str, object]:
    return dict(SchemaGenerator().get_schema(request=None, public=True))


def _etag(request: HttpRequest, **_: object) -> str:
    return f'"{_schema_digest()}"'


@functools.cache
def _schema_digest() -> str:
    return hashlib.sha256(json.dumps(get_schema(), default=str).encode()).hexdigest()[:32]


@method_decorator([gzip_page, condition(etag_func=_etag)], name="dispatch")
class Document(APIView):
    """The OpenAPI 3.1 document as JSON, compressed if the client allows it, with an ETag.

    Other responses are not compressed: their length would tell an observer about secrets beside reflected input
    (BREACH; docs/operations/sign-in-and-security.md).
    """

    authentication_classes = ()
    permission_classes = ()
    renderer_classes = (OpenApiJsonRenderer2, OpenApiJsonRenderer)

    @extend_schema(exclude=True)
    def get(self, request: Request) -> Response:
        return Response(get_schema())


class Page(SpectacularSwaggerSplitView):
    """Swagger UI. Its start script is served at the same address with `?script=`."""

    template_name = "site/api_reference.html"

    @extend_schema(exclude=True)
    def get(self, request: Request) -> Response:
        untyped: Any = super()
        response: Response = untyped.get(request)
        response.headers["Content-Security-Policy"] = _CONTENT_SECURITY_POLICY
        return response
