"""Generates the OpenAPI document from the code: request bodies from serializers, response bodies from TypedDicts.

A view's method has `@extend_schema(request=…, responses={200: Out}, examples=[request_example(…), …])`. A view that
returns JSON declares `error_body` (its contract's envelope) and `error_statuses` of all operations. It may also have:

- `response_headers`: name → OpenAPI header object, for headers on every response;
- `path_names`: a path parameter's name in Python → its name in the contract;
- `extra_error_statuses`: more error statuses of single actions, by action, or by method if there are no actions;
- `has_etag`: its GET responses have an ETag, and are 304 if the client has this version;
- `adapters`: the view sets that share its path and are documented as one operation.

A serializer may have `schema_rules`, JSON Schema keywords that its fields do not express. Or it may have
`schema_variants`, a component's name → its JSON Schema keywords: a body must match exactly one of them (`oneOf`). A
body may be an `EventStream` (ragsite.http.openapi.field_types).
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any, TypedDict, TypeVar

from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ComponentRegistry
from drf_spectacular.utils import Direction, OpenApiExample, OpenApiResponse
from rest_framework import exceptions
from rest_framework.views import APIView

from ragsite.http.bodies.json_types import JsonObject
from ragsite.http.bodies.upload_handler import PayloadTooLarge
from ragsite.http.error_envelope import TITLES, TooManyRequests

from . import field_types
from .merge_operations import merge_operations

# The error statuses that every operation can return.
COMMON_STATUSES = (400, 401, 403, 413, 429, 500, 503)

_ERRORS: dict[int, exceptions.APIException] = {
    400: exceptions.ValidationError({"body": ["the body must be a JSON object"]}),
    401: exceptions.NotAuthenticated(),
    403: exceptions.PermissionDenied(),
    404: exceptions.NotFound(),
    413: PayloadTooLarge("The body has 40,000,000 bytes; at most 33,554,432 are accepted here."),
    415: exceptions.UnsupportedMediaType("text/plain"),
    429: TooManyRequests(30, "At most 60 requests a minute are allowed."),
}
_RETRY_AFTER = {"description": "Seconds to wait.", "schema": {"type": "string", "pattern": "^[0-9]+$"}}
_ETAG = {"description": "The version, for `If-None-Match`.", "schema": {"type": "string"}}
_HEADERS: dict[str, dict[str, object]] = {
    "401": {"WWW-Authenticate": {"description": "How to sign in.", "schema": {"type": "string"}}},
    "429": {"Retry-After": _RETRY_AFTER},
    "503": {"Retry-After": _RETRY_AFTER},
}

_REQUEST_ID = "0b9e6f0e-4f0c-4f6b-9d55-2f1f6f3f8a11"

View = TypeVar("View", bound=APIView)


@field_types.allow_additional_fields
class ErrorDetails(TypedDict, total=False):
    """Details for programs: `request_id`; `field` and `message` of the first wrong field; `errors` if there are more.
    Some errors add more."""

    field: str
    message: str
    errors: list[dict[str, str]]
    request_id: str


class ErrorBody(TypedDict):
    """The body of every error response."""

    error: str
    message: str
    details: ErrorDetails


def request_example(value: object, name: str = "Request") -> OpenApiExample:
    """Create an example of a request's body. Two examples of one operation need two names."""
    return OpenApiExample(name, value=value, request_only=True)


def response_example(
    value: object, name: str = "Answer", *, status: int = 200, media_type: str | None = None
) -> OpenApiExample:
    """Create an example of a response's body."""
    return OpenApiExample(
        name, value=value, response_only=True, status_codes=[str(status)], media_type=media_type or "application/json"
    )


def normalize_paths(endpoints: Iterable[Any]) -> list[Any]:
    """Rewrite paths as the contracts spell them, without slash and with `path_names` (a preprocessing hook)."""
    normalized = []
    for path, regex, method, callback in endpoints:
        for name, contract_name in getattr(callback.cls, "path_names", {}).items():
            path = path.replace(f"{{{name}}}", f"{{{contract_name}}}")
            regex = regex.replace(f"<{name}>", f"<{contract_name}>")
        normalized.append((path.rstrip("/"), regex, method, callback))
    return normalized


class Schema(AutoSchema):
    """drf-spectacular's view inspector, extended by TypedDict bodies, error bodies and shared paths."""

    def get_operation(
        self, path: str, path_regex: str, path_prefix: str, method: str, registry: ComponentRegistry
    ) -> Any:
        arguments = (path, path_regex, path_prefix, method, registry)
        view: Any = self.view
        if (adapters := getattr(view, "adapters", ())) and method == "POST":
            operations = [_inspector(adapter, view).get_operation(*arguments) for adapter in adapters]
            operation: Any = {**merge_operations(operations), "operationId": view.operation_id}
        else:
            operation = super().get_operation(*arguments)
        if operation and path.startswith("/functions/"):  # the same operation at a second address
            operation["operationId"] += "Function"
        return operation

    def get_operation_id(self) -> str:
        """Return the contract, the view and its action, if it has several: `v3Search`, `pipelineDataSourcesList`."""
        cls = type(self.view)
        action = getattr(self.view, "action", None) or ""
        name = field_types.component_prefix(cls) + cls.__name__ + action[:1].upper() + action[1:]
        return name[:1].lower() + name[1:]

    def get_tags(self) -> list[str]:
        cls = type(self.view)
        return [field_types.contract_name(cls).replace("_", " ") or "accounts"]

    def get_summary(self) -> str | None:
        """Return the description's first sentence, without its full stop."""
        sentence = re.split(r"(?<=[.!?])\s|\n\n", self.get_description().strip(), maxsplit=1)[0]
        return " ".join(sentence.split()).removesuffix(".") or None

    def get_serializer_name(self, serializer: object, direction: object) -> str:
        """Return the contract and the serializer without `In`: `V3Ingest`. drf-spectacular appends `Request`."""
        return field_types.component_prefix(type(serializer)) + type(serializer).__name__.removesuffix("In")

    def _map_serializer(self, serializer: object, direction: object, bypass_extensions: bool = False) -> JsonObject:
        untyped: Any = super()
        schema: JsonObject = untyped._map_serializer(serializer, direction, bypass_extensions)
        schema = field_types.apply_rules(schema, getattr(serializer, "schema_rules", {}))
        if direction == "request" and "properties" in schema:
            schema = field_types.without_defaults(schema)
        if variants := getattr(serializer, "schema_variants", None):
            prefix = field_types.component_prefix(type(serializer))
            schema = field_types.split_variants(schema, variants, prefix, self.registry)
        return schema

    def _insert_field_validators(self, field: Any, schema: JsonObject) -> None:
        untyped: Any = super()
        untyped._insert_field_validators(field, schema)
        # drf-spectacular puts the empty string beside the pattern, which matches it too: `oneOf` would fail.
        if getattr(field, "allow_blank", False) and "oneOf" in schema:
            schema |= schema.pop("oneOf")[0]

    def _is_list_view(self, serializer: object = None) -> bool:
        return False  # every list is a field of a declared object

    def _get_response_bodies(self, direction: Direction = "response") -> JsonObject:
        bodies = super()._get_response_bodies(direction)
        statuses = {*getattr(self.view, "error_statuses", COMMON_STATUSES)}
        action = getattr(self.view, "action", None) or self.method.lower()
        statuses.update(getattr(self.view, "extra_error_statuses", {}).get(action, ()))
        if self.method in ("POST", "PUT", "PATCH"):
            statuses.add(415)
        body = getattr(self.view, "error_body", ErrorBody)
        for status in sorted(statuses):
            examples = [response_example(example, status=status)] if (example := self._error_example(status)) else []
            error = OpenApiResponse(body, description=TITLES[status], examples=examples)
            bodies.setdefault(str(status), self._get_response_for_code(error, str(status), direction=direction))
        if self.method == "GET" and getattr(self.view, "has_etag", False):
            unchanged = OpenApiResponse(None, description="Not modified: as `If-None-Match` says.")
            bodies["304"] = self._get_response_for_code(unchanged, "304", direction=direction)
        return bodies

    def _get_response_for_code(
        self,
        serializer: object,
        status_code: str,
        media_types: Sequence[str] | None = None,
        direction: Direction = "response",
    ) -> JsonObject:
        if not isinstance(serializer, OpenApiResponse):
            serializer = OpenApiResponse(serializer)
        body, description = serializer.response, serializer.description or TITLES.get(int(status_code), "Success")
        if isinstance(body, field_types.EventStream):
            body = body.schema(getattr(self.view, "error_body", ErrorBody), self.registry)
        elif field_types.is_described(body):
            body = field_types.schema_of(body, self.registry)
        untyped: Any = super()
        response: JsonObject = untyped._get_response_for_code(
            OpenApiResponse(body, description, serializer.examples), status_code, media_types, direction
        )
        return response

    def _get_response_headers_for_code(self, status_code: str, direction: Direction = "response") -> JsonObject:
        headers = super()._get_response_headers_for_code(status_code, direction)
        has_etag = getattr(self.view, "has_etag", False) and self.method == "GET" and str(status_code) in ("200", "304")
        etag = {"ETag": _ETAG} if has_etag else {}
        return {**headers, **etag, **getattr(self.view, "response_headers", {}), **_HEADERS.get(str(status_code), {})}

    def _error_example(self, status: int) -> object:
        """Return the body that the view's error handler renders for this status; None without an example."""
        if status not in _ERRORS:
            return None
        handler = self.view.get_exception_handler()
        response = handler(_ERRORS[status], {"view": self.view, "request": self.view.request})
        return _with_fixed_values(response.data)


def _inspector(adapter: type[View], beside: APIView) -> Any:
    """Return the inspector of an adapter's `create`, which has no path itself."""
    view: Any = adapter()
    view.request, view.kwargs, view.args, view.action = beside.request, {}, (), "create"
    inspector = getattr(view.create, "kwargs", {}).get("schema", Schema)()
    inspector.view = view
    return inspector


def _with_fixed_values(value: object) -> object:
    """Replace times and request ids, so that examples do not change between generations."""
    if isinstance(value, dict):
        fixed = {name: _with_fixed_values(item) for name, item in value.items()}
        return {**fixed, "request_id": _REQUEST_ID} if "request_id" in fixed else fixed
    if isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)", value):
        return "2026-01-31T12:00:00Z"
    return value
