"""The API's reference: /api/schema for programs, /api/docs for people. Open to everybody, and the same for all."""

import functools
import threading
from typing import Any

from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer, OpenApiJsonRenderer2
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularSwaggerSplitView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

# Swagger UI sets styles from its script; everything it loads is served from here.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


_generating = threading.Lock()


def document() -> dict[str, Any]:
    """The OpenAPI document. Generated once: it depends on nothing but the code."""
    with _generating:  # the generator is not made for several threads at once
        return _document()


@functools.cache
def _document() -> dict[str, Any]:
    return dict(SchemaGenerator().get_schema(request=None, public=True))


class Document(APIView):
    """OpenAPI 3.1 as JSON."""

    authentication_classes = ()
    permission_classes = ()
    renderer_classes = (OpenApiJsonRenderer2, OpenApiJsonRenderer)

    @extend_schema(exclude=True)
    def get(self, request: Request) -> Response:
        return Response(document())


class Page(SpectacularSwaggerSplitView):
    """Swagger UI; its start script is this address with `?script=`."""

    @extend_schema(exclude=True)
    def get(self, request: Request) -> Response:
        untyped: Any = super()
        response: Response = untyped.get(request)
        response.headers["Content-Security-Policy"] = _POLICY
        return response
