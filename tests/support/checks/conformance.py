"""Checks every API response against the API's OpenAPI document: status, headers, media type, body.

It reads the document's snapshot, which equals what the product serves (tests/contracts/common/openapi): generating the
document takes each test process seconds.
"""

import functools
import json
import re
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker

_SNAPSHOT = Path(__file__).parents[2] / "contracts" / "openapi.json"

# Paths with these prefixes belong to the API. Everything else (admin, health) is not in the OpenAPI document.
API_PREFIXES = ("/api/", "/agent/", "/functions/", "/v1/")
# The document itself and its pages.
UNDESCRIBED_PATHS = ("/api/schema", "/api/docs")
# Statuses that any path may answer with before a view is reached.
STATUSES_OF_UNKNOWN_PATHS = (400, 404, 413)
STATUSES_OF_UNKNOWN_METHODS = (401, 403, 405, 413, 429)


@functools.cache
def document() -> dict[str, Any]:
    """The API's OpenAPI document."""
    return dict(json.loads(_SNAPSHOT.read_text()))


def check_response(method: str, path: str, status: int, headers: dict[str, str], content: bytes) -> None:
    """Raise AssertionError unless the OpenAPI document describes this response.

    Args:
        method: HTTP method in capitals.
        path: Path of the request, with or without a query string.
        status: HTTP status of the response.
        headers: Response headers, names in lower case.
        content: Body of the response.
    """
    path = path.partition("?")[0].rstrip("/")
    if not path.startswith(API_PREFIXES) or path.startswith(UNDESCRIBED_PATHS):
        return
    label = f"{method} {path}"
    template = _matching_template(path)
    if template is None:
        assert status in STATUSES_OF_UNKNOWN_PATHS, f"{label} answered {status}; the path is not in the schema"
        return
    operation = document()["paths"][template].get(method.lower())
    if method in ("OPTIONS", "HEAD"):  # answered by every view, and not described
        return
    if operation is None:
        assert status in STATUSES_OF_UNKNOWN_METHODS, f"{label} answered {status}; the method is not in the schema"
        return
    response = operation["responses"].get(str(status))
    assert response is not None, f"{label} answered {status}: {content[:500]!r}; the status is not in the schema"
    _check_headers(label, response, headers)
    media_types = response.get("content", {})
    media_type = headers.get("content-type", "").partition(";")[0]
    if not media_types:
        assert content == b"", f"{label}, {status}: the schema describes no body"
        return
    assert media_type in media_types, f"{label}, {status}: {media_type} is not in the schema"
    if media_type == "application/json":
        errors = list(_validator(template, method.lower(), str(status)).iter_errors(json.loads(content)))
        summary = "; ".join(f"{error.json_path}: {error.message}"[:300] for error in errors[:3])
        assert not errors, f"{label}, {status}: the body does not match the schema: {summary}"


def _check_headers(label: str, response: dict[str, Any], headers: dict[str, str]) -> None:
    for name, header in response.get("headers", {}).items():
        value = headers.get(name.lower())
        assert value is not None or not header.get("required"), f"{label}: the header {name} is missing"


@functools.cache
def _matching_template(path: str) -> str | None:
    """Return the matching path template of the schema with the fewest parameters; None if none matches."""
    for template in sorted(document()["paths"], key=lambda template: template.count("{")):
        pattern = re.sub(r"\\\{[^/]+\\\}", "[^/]+", re.escape(template))
        if re.fullmatch(pattern, path):
            return str(template)
    return None


def check_event(path: str, event: str, data: object) -> None:
    """Raise AssertionError unless the OpenAPI document describes this event of the stream that POST `path` returns."""
    errors = list(_event_validator(path.rstrip("/")).iter_errors({"event": event, "data": data}))
    assert not errors, f"{path}: the event {event} does not match the schema: {errors[0].message[:300]}"


@functools.cache
def _event_validator(path: str) -> Draft202012Validator:
    template = _matching_template(path)
    assert template is not None, f"{path} is not in the schema"
    content = document()["paths"][template]["post"]["responses"]["200"]["content"]
    item = content["text/event-stream"]["schema"]["x-item-schema"]
    return Draft202012Validator(
        {**item, "components": _components_without_extra_fields()}, format_checker=FormatChecker()
    )


@functools.cache
def _validator(template: str, method: str, status: str) -> Draft202012Validator:
    content = document()["paths"][template][method]["responses"][status]["content"]
    schema = {**content["application/json"]["schema"], "components": _components_without_extra_fields()}
    return Draft202012Validator(schema, format_checker=FormatChecker())


@functools.cache
def _components_without_extra_fields() -> Any:
    """Return the schema's components with `additionalProperties: false`: an undescribed field fails a test."""

    def forbid_extra_fields(schema: Any) -> Any:
        if isinstance(schema, list):
            return [forbid_extra_fields(item) for item in schema]
        if not isinstance(schema, dict):
            return schema
        strict = {name: forbid_extra_fields(value) for name, value in schema.items()}
        if schema.get("type") == "object" and "properties" in schema:
            strict.setdefault("additionalProperties", False)
        return strict

    return forbid_extra_fields(document()["components"])
