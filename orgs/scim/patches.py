"""PATCH: applies operations to a resource as JSON, including those that Entra ID and Okta send (RFC 7644, 3.5.2)."""

import copy
import re

from . import filters
from .errors import ScimError

_PATH = re.compile(r"(?:urn:[\w:.-]+:)?([\w$-]+)(?:\[(.*)\])?(?:\.([\w$-]+))?")
MAX_OPERATIONS = 1_000
MAX_ELEMENTS = 10_000
MAX_COMPARISONS = 10
# Attributes that one request may look at: 20 conditions on a list of 10,000 members, of four attributes each.
MAX_WORK = 1_000_000
_MAX_PATH_CHARACTERS = 3_000
_MAX_TEXT_CHARACTERS = 2_000


def apply(resource: dict[str, object], body: object) -> dict[str, object]:
    """Return the resource after the operations of a PATCH.

    Raises:
        ScimError: If an operation is malformed, or all of them are too much work (`tooMany`).
    """
    operations = body.get("Operations") if isinstance(body, dict) else None
    if not isinstance(operations, list) or not 0 < len(operations) <= MAX_OPERATIONS:
        raise ScimError(400, f"Operations must be a list of 1 to {MAX_OPERATIONS:,} operations.", "invalidSyntax")
    patch = _Patch(copy.deepcopy(resource))
    for operation in operations:
        kind = str(operation.get("op", "")).lower() if isinstance(operation, dict) else ""
        if kind not in ("add", "replace", "remove"):
            raise ScimError(400, "op must be add, replace or remove.", "invalidSyntax")
        patch.apply(kind, operation.get("path"), operation.get("value"))
    return patch.resource


class _Patch:
    """A resource that is changed, and the work that is left for it."""

    def __init__(self, resource: dict[str, object]) -> None:
        self.resource = resource
        self._work_left = MAX_WORK

    def apply(self, kind: str, path: object, value: object) -> None:
        if path in (None, ""):
            if kind == "remove":
                raise ScimError(400, "remove needs a path.", "noTarget")
            if not isinstance(value, dict):
                raise ScimError(400, "Without a path, value must be an object.", "invalidValue")
            for name, item in value.items():
                if not name:
                    raise ScimError(400, "The path is not valid.", "invalidPath")
                self.apply(kind, name, item)
            return
        match = _PATH.fullmatch(path) if isinstance(path, str) and len(path) <= _MAX_PATH_CHARACTERS else None
        if match is None:
            raise ScimError(400, "The path is not valid.", "invalidPath")
        name, condition, part = self._known_name(self.resource, match[1]), match[2], match[3]
        if condition is not None:
            self._change_elements(kind, name, condition, part, value)
        elif part is not None:
            self._change_value(self.resource.setdefault(name, {}), kind, part, value)
        else:
            self._change_value(self.resource, kind, name, value)
        changed = self.resource.get(name)
        if isinstance(changed, list) and len(changed) > MAX_ELEMENTS:
            raise ScimError(400, f"A list may have at most {MAX_ELEMENTS:,} elements.", "tooMany")

    def _spend(self, work: int) -> None:
        self._work_left -= work
        if self._work_left < 0:
            raise ScimError(400, "These operations are too many for one request. Send fewer at once.", "tooMany")

    def _change_value(self, parent: object, kind: str, name: str, value: object) -> None:
        if not isinstance(parent, dict):
            raise ScimError(400, "The path names no attribute.", "invalidPath")
        name = self._known_name(parent, name)
        current = parent.get(name)
        self._spend(_size(current) + _size(value))
        if kind == "remove" and isinstance(current, list) and value is not None:  # as Entra ID removes members
            removed = {_key(entry) for entry in _as_list(value)}
            parent[name] = [item for item in current if _key(item) not in removed]
        elif kind == "remove":
            parent.pop(name, None)
        elif kind == "add" and isinstance(current, list):
            known = {_key(item) for item in current}
            parent[name] = [*current, *(item for item in _as_list(value) if _key(item) not in known)]
        elif isinstance(current, dict) and isinstance(value, dict):
            parent[name] = {**current, **value}
        else:
            parent[name] = value

    def _change_elements(self, kind: str, name: str, condition: str, part: str | None, value: object) -> None:
        """Change the elements of a list that match, such as `emails[type eq "work"].value`."""
        comparisons = filters.parse(condition)
        if len(comparisons) > MAX_COMPARISONS:
            raise ScimError(400, f"A path may have at most {MAX_COMPARISONS} comparisons.", "invalidFilter")
        elements = _as_list(self.resource.get(name) or [])
        self._spend(len(elements))
        matching = [
            item for item in elements if isinstance(item, dict) and all(self._matches(item, one) for one in comparisons)
        ]
        if kind == "remove" and part is None:
            removed_ids = {id(item) for item in matching}
            self.resource[name] = [item for item in elements if id(item) not in removed_ids]
            return
        if not matching and kind == "remove":
            return
        if not matching:
            matching = [{one.attribute: one.value for one in comparisons if one.operator == "eq"}]
            elements = [*elements, *matching]
        for item in matching:
            if part is not None:
                self._change_value(item, kind, part, value)
            elif isinstance(value, dict):
                self._spend(_size(value))
                item.update(value)
        self.resource[name] = elements

    def _matches(self, item: dict[str, object], comparison: filters.Comparison) -> bool:
        value = item.get(self._known_name(item, comparison.attribute))
        if comparison.operator == "pr":
            return value is not None
        is_equal = _text(value) == _text(comparison.value)
        if comparison.operator not in ("eq", "ne"):
            raise ScimError(400, "Elements are compared with eq, ne and pr.", "invalidFilter")
        return is_equal == (comparison.operator == "eq")

    def _known_name(self, parent: dict[str, object], name: str) -> str:
        """The name as the resource spells it: attributes are case-insensitive."""
        self._spend(len(parent))
        return next((known for known in parent if known.lower() == name.lower()), name)


def _as_list(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def _size(value: object) -> int:
    return len(value) if isinstance(value, dict | list) else 1


def _key(item: object) -> str:
    return _text(item.get("value") if isinstance(item, dict) else item)


def _text(value: object) -> str:
    """A simple value as it is compared. Long and nested ones would be converted once for every element.

    Raises:
        ScimError: If the value is not simple.
    """
    if isinstance(value, dict | list) or (isinstance(value, str) and len(value) > _MAX_TEXT_CHARACTERS):
        message = f"Values that are compared must be simple, of at most {_MAX_TEXT_CHARACTERS:,} characters."
        raise ScimError(400, message, "invalidValue")
    return str(value).lower()
