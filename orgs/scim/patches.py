"""PATCH: applies operations to a resource as JSON, also as Entra ID and Okta send them (RFC 7644, 3.5.2)."""

import copy
import re
from typing import Any

from . import filters
from .errors import ScimError

_PATH = re.compile(r"(?:urn:[\w:.-]+:)?([\w$-]+)(?:\[(.*)\])?(?:\.([\w$-]+))?")
MAX_OPERATIONS = 1_000


def apply(resource: dict[str, Any], body: Any) -> dict[str, Any]:
    """Return the resource after the operations of a PATCH.

    Raises:
        ScimError: If an operation is malformed.
    """
    operations = body.get("Operations") if isinstance(body, dict) else None
    if not isinstance(operations, list) or not 0 < len(operations) <= MAX_OPERATIONS:
        raise ScimError(400, f"Operations must be a list of 1 to {MAX_OPERATIONS:,} operations.", "invalidSyntax")
    changed = copy.deepcopy(resource)
    for operation in operations:
        kind = str(operation.get("op", "")).lower() if isinstance(operation, dict) else ""
        if kind not in ("add", "replace", "remove"):
            raise ScimError(400, "op must be add, replace or remove.", "invalidSyntax")
        _apply_one(changed, kind, operation.get("path"), operation.get("value"))
    return changed


def _apply_one(resource: dict[str, Any], kind: str, path: Any, value: Any) -> None:
    if path in (None, ""):
        if kind == "remove":
            raise ScimError(400, "remove needs a path.", "noTarget")
        if not isinstance(value, dict):
            raise ScimError(400, "Without a path, value must be an object.", "invalidValue")
        for name, item in value.items():
            _apply_one(resource, kind, name, item)
        return
    match = _PATH.fullmatch(path) if isinstance(path, str) else None
    if match is None:
        raise ScimError(400, "The path is not valid.", "invalidPath")
    name, condition, part = _known_name(resource, match[1]), match[2], match[3]
    if condition is not None:
        _apply_to_elements(resource, kind, name, condition, part, value)
    elif part is not None:
        _apply_to_value(resource.setdefault(name, {}), kind, part, value)
    else:
        _apply_to_value(resource, kind, name, value)


def _apply_to_value(parent: Any, kind: str, name: str, value: Any) -> None:
    if not isinstance(parent, dict):
        raise ScimError(400, "The path names no attribute.", "invalidPath")
    name = _known_name(parent, name)
    present = parent.get(name)
    if kind == "remove" and isinstance(present, list) and value is not None:  # as Entra ID removes members
        parent[name] = [item for item in present if _key(item) not in {_key(entry) for entry in _as_list(value)}]
    elif kind == "remove":
        parent.pop(name, None)
    elif kind == "add" and isinstance(present, list):
        known = {_key(item) for item in present}
        parent[name] = [*present, *(item for item in _as_list(value) if _key(item) not in known)]
    elif isinstance(present, dict) and isinstance(value, dict):
        parent[name] = {**present, **value}
    else:
        parent[name] = value


def _apply_to_elements(
    resource: dict[str, Any], kind: str, name: str, condition: str, part: str | None, value: Any
) -> None:
    """Change the elements of a list that match, such as `emails[type eq "work"].value`."""
    comparisons = filters.parse(condition)
    elements = _as_list(resource.get(name) or [])
    matching = [item for item in elements if isinstance(item, dict) and all(_matches(item, one) for one in comparisons)]
    if kind == "remove" and part is None:
        resource[name] = [item for item in elements if item not in matching]
        return
    if not matching and kind == "remove":
        return
    if not matching:
        matching = [{one.attribute: one.value for one in comparisons if one.operator == "eq"}]
        elements = [*elements, *matching]
    for item in matching:
        if part is not None:
            _apply_to_value(item, kind, part, value)
        elif isinstance(value, dict):
            item.update(value)
    resource[name] = elements


def _matches(item: dict[str, Any], comparison: filters.Comparison) -> bool:
    value = item.get(_known_name(item, comparison.attribute))
    if comparison.operator == "pr":
        return value is not None
    is_equal = str(value).lower() == str(comparison.value).lower()
    if comparison.operator not in ("eq", "ne"):
        raise ScimError(400, "Elements are compared with eq, ne and pr.", "invalidFilter")
    return is_equal == (comparison.operator == "eq")


def _known_name(parent: dict[str, Any], name: str) -> str:
    """The name as the resource spells it: attributes are case-insensitive."""
    return next((known for known in parent if known.lower() == name.lower()), name)


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _key(item: Any) -> str:
    return str(item.get("value") if isinstance(item, dict) else item).lower()
