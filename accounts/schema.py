"""OpenAPI out of what the code already says: TypedDicts for what goes out, serializers for what comes in.

A view that answers JSON declares `error_body` (its contract's envelope) and `error_statuses`; every operation of it is
documented with all of them, so that no status is a surprise.
"""

from typing import Any, TypedDict, is_typeddict

from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ResolvedComponent, resolve_type_hint
from drf_spectacular.utils import OpenApiResponse

from .envelope import TITLES

# What any request may be answered with, whatever it asks for.
COMMON_STATUSES = (400, 401, 403, 405, 413, 429, 500, 503)


class ErrorDetails(TypedDict, total=False):
    """What a program needs: `field` and `message` of the first wrong field, `errors` if there are several, `request_id`
    with every 5xx. Some errors add more."""

    field: str
    message: str
    errors: list[dict[str, str]]
    request_id: str


class ErrorBody(TypedDict):
    """Every answer that is not a success."""

    error: str
    message: str
    details: ErrorDetails


class Schema(AutoSchema):
    """drf-spectacular's view inspector, for TypedDict bodies and with every view's error bodies."""

    def _get_response_bodies(self, direction: Any = "response") -> Any:
        bodies = super()._get_response_bodies(direction)
        statuses = getattr(self.view, "error_statuses", COMMON_STATUSES)
        body = getattr(self.view, "error_body", ErrorBody)
        for status in sorted(statuses):
            described = OpenApiResponse(body, description=TITLES[status])
            bodies.setdefault(str(status), self._get_response_for_code(described, str(status), direction=direction))
        return bodies

    def _get_response_for_code(
        self, serializer: Any, status_code: Any, media_types: Any = None, direction: Any = "response"
    ) -> Any:
        if isinstance(serializer, OpenApiResponse) and is_typeddict(serializer.response):
            serializer = OpenApiResponse(
                self._component(serializer.response), serializer.description, serializer.examples
            )
        elif is_typeddict(serializer):
            serializer = OpenApiResponse(
                self._component(serializer), description=TITLES.get(int(status_code), "Success")
            )
        untyped: Any = super()
        return untyped._get_response_for_code(serializer, status_code, media_types, direction)

    def _component(self, body: Any) -> dict[str, Any]:
        """A reference to the TypedDict's schema, which is registered once under its name."""
        component = ResolvedComponent(
            name=body.__name__, type=ResolvedComponent.SCHEMA, schema=resolve_type_hint(body), object=body
        )
        self.registry.register_on_missing(component)
        return dict(component.ref)
