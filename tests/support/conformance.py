"""Every answer against the OpenAPI schema that the product serves: its status, content type, headers and body."""

import functools
import json
import re
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker

from ragsite.views.api_reference import document

# Paths below these are the API's; everything else (admin, health) is not in the schema.
PREFIXES = ("/api/", "/agent/", "/functions/")
# Open by nature: not described in the schema, or described in themselves.
BESIDE = ("/api/schema", "/api/docs")


def check(method: str, path: str, status: int, headers: dict[str, str], content: bytes) -> None:
    """headers: names in lower case. Raises AssertionError if the schema does not have this answer."""
    path = path.partition("?")[0].rstrip("/")
    if not path.startswith(PREFIXES) or path.startswith(BESIDE):
        return
    asked = f"{method} {path}"
    if (template := _template(path)) is None:
        assert status in (400, 404, 413), f"{asked} answered {status}, and the schema does not have this path"
        return
    operation = document()["paths"][template].get(method.lower())
    if method in ("OPTIONS", "HEAD"):  # answered everywhere; described nowhere
        return
    if operation is None:
        assert status in (401, 403, 405, 413, 429), f"{asked} answered {status}, and the schema has no such method"
        return
    response = operation["responses"].get(str(status))
    assert response is not None, f"{asked} answered {status}: {content[:500]!r}; the schema has no such status"
    _check_headers(asked, response, headers)
    described = response.get("content", {})
    media_type = headers.get("content-type", "").partition(";")[0]
    if not described:
        assert content == b"", f"{asked}, {status}: a body that the schema does not have"
        return
    assert media_type in described, f"{asked}, {status}: {media_type} is not in the schema"
    if media_type == "application/json":
        errors = list(_validator(template, method.lower(), str(status)).iter_errors(json.loads(content)))
        found = "; ".join(f"{error.json_path}: {error.message}"[:300] for error in errors[:3])
        assert not errors, f"{asked}, {status}: the body is not as in the schema: {found}"


def _check_headers(asked: str, response: dict[str, Any], headers: dict[str, str]) -> None:
    for name, header in response.get("headers", {}).items():
        value = headers.get(name.lower())
        assert value is not None or not header.get("required"), f"{asked}: the header {name} is missing"


@functools.cache
def _template(path: str) -> str | None:
    """The schema's path that this one is an instance of; a path without parameters goes first."""
    for template in sorted(document()["paths"], key=lambda each: each.count("{")):
        pattern = re.sub(r"\\\{[^/]+\\\}", "[^/]+", re.escape(template))
        if re.fullmatch(pattern, path):
            return str(template)
    return None


@functools.cache
def _validator(template: str, method: str, status: str) -> Draft202012Validator:
    content = document()["paths"][template][method]["responses"][status]["content"]
    schema = {**content["application/json"]["schema"], "components": _closed()}
    return Draft202012Validator(schema, format_checker=FormatChecker())


@functools.cache
def _closed() -> Any:
    """The components, without room for fields that they do not name: clients may meet new ones, our tests may not."""

    def closed(schema: Any) -> Any:
        if isinstance(schema, list):
            return [closed(each) for each in schema]
        if not isinstance(schema, dict):
            return schema
        inner = {name: closed(each) for name, each in schema.items()}
        if schema.get("type") == "object" and "properties" in schema:
            inner.setdefault("additionalProperties", False)
        return inner

    return closed(document()["components"])
