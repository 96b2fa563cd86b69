"""Warnings about a request that is answered nevertheless, mostly of fields that the contract does not know."""

import difflib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar

from rest_framework.fields import ListField, empty
from rest_framework.serializers import ListSerializer, Serializer

from .strict_fields import AnyField

# The response header with the warnings: a JSON array of strings in ASCII.
HEADER = "X-Request-Warnings"
MAX_WARNINGS = 5
_MAX_NAME_CHARACTERS = 40
# Limits of the search for unknown fields: entries of a list, and fields of an object.
_MAX_ENTRIES, _MAX_FIELDS = 1_000, 200
_MIN_SIMILARITY = 0.6
_UNSAFE = re.compile(r"[^A-Za-z0-9_.\[\]-]")

# The warnings of the request that this thread answers. None: they are not collected.
_warnings: ContextVar[list[str] | None] = ContextVar("request_warnings", default=None)


def start() -> None:
    """Begin a request, whose warnings are collected from now on."""
    _warnings.set([])


def collected() -> tuple[str, ...]:
    """Return the warnings of the current request, at most MAX_WARNINGS."""
    return tuple(_warnings.get() or ())


def header_value() -> str:
    """Return the warnings as the value of the header; empty without warnings."""
    return json.dumps(collected()) if collected() else ""


def warn_of_unknown_fields(field: AnyField, data: object, path: str = "") -> None:
    """Add a warning for each field of the body that the serializer does not know, in the body's order.

    Args:
        field: The serializer, or a list of serializers.
        data: The body, or a part of it.
        path: Where the part stands in the body, such as "documents.".
    """
    warnings = _warnings.get()
    if warnings is None:
        return
    for object_path, name, known in _unknown_fields(field, data, path):
        if len(warnings) >= MAX_WARNINGS:
            return
        warnings.append(_message(object_path, name, known))


def add(message: str) -> None:
    """Add a warning, in ASCII, unless there are MAX_WARNINGS already."""
    warnings = _warnings.get()
    if warnings is not None and len(warnings) < MAX_WARNINGS:
        warnings.append(message)


def warn_of_unknown_parameters(sent: Iterable[str], known: Sequence[str]) -> None:
    """Add a warning for each query parameter of a list that the list does not have. It names those that exist.

    Args:
        sent: The names of the request's query parameters.
        known: Those of the list.
    """
    for name in sent:
        if name not in known:
            add(f"The query parameter {_escape(name)} is unknown and was ignored. Known are {', '.join(known)}.")


class UnknownFieldWarnings(Serializer[object]):
    """A serializer that warns of unknown fields, for views that validate with it directly."""

    def run_validation(self, data: object = empty) -> object:
        if isinstance(data, Mapping):
            warn_of_unknown_fields(self, data)
        return super().run_validation(data)


def _unknown_fields(field: "AnyField | None", data: object, path: str) -> Iterator[tuple[str, str, list[str]]]:
    """Yield the path of the object, the name of the unknown field and the known names."""
    if isinstance(field, Serializer) and isinstance(data, dict):
        known = [name for name, child in field.fields.items() if not child.read_only]
        for index, (name, value) in enumerate(data.items()):
            if index >= _MAX_FIELDS:
                return
            if name in field.fields:
                yield from _unknown_fields(field.fields[name], value, f"{path}{name}.")
            else:
                yield path, str(name), known
    elif isinstance(field, ListField | ListSerializer) and isinstance(data, list):
        for index, item in enumerate(data[:_MAX_ENTRIES]):
            yield from _unknown_fields(field.child, item, f"{path.removesuffix('.')}[{index}].")


def _message(path: str, name: str, known: list[str]) -> str:
    nearest = _nearest(name, known)
    hint = f" Did you mean {path}{nearest}?" if nearest else ""
    return f"The field {path}{_escape(name)} is unknown and was ignored.{hint}"


def _nearest(name: str, known: list[str]) -> str:
    """Return the known field that is most similar, ignoring case and underscores; empty if none is similar."""
    by_spelling = {_spelling(field): field for field in known}
    spelling = _spelling(name[:_MAX_NAME_CHARACTERS])
    matches = difflib.get_close_matches(spelling, by_spelling, n=1, cutoff=_MIN_SIMILARITY)
    return by_spelling[matches[0]] if matches else ""


def _spelling(name: str) -> str:
    return re.sub(r"[\W_]", "", name).lower()


def _escape(name: str) -> str:
    """Return the beginning of a client's name. All but letters, digits and some punctuation are written as \\uXXXX."""
    text = name[:_MAX_NAME_CHARACTERS] + ("..." if len(name) > _MAX_NAME_CHARACTERS else "")
    return _UNSAFE.sub(lambda match: f"\\u{ord(match.group()):04x}", text)
