"""SCIM filters: comparisons that are joined with `and` (RFC 7644, 3.4.2.2)."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from django.db.models import Q

from ragsite.postgres.models import as_uuid, is_storable

from .errors import ScimError

_COMPARISON = re.compile(
    r'([\w.$-]+)\s+(eq|ne|co|sw|ew)\s+("(?:[^"\\]|\\.)*"|true|false)|([\w.$-]+)\s+pr', re.IGNORECASE
)
_MAX_CHARACTERS = 2_000
_UNSUPPORTED = "Supported filters are comparisons with eq, ne, co, sw, ew and pr, joined with and."
_LOOKUPS = {"eq": "iexact", "ne": "iexact", "co": "icontains", "sw": "istartswith", "ew": "iendswith"}


@dataclass(frozen=True, slots=True)
class Comparison:
    """An attribute, lower-case and without its schema, and what it is compared with. `pr` has no value."""

    attribute: str
    operator: str
    value: str | bool | None


def parse(text: str) -> list[Comparison]:
    """Parse a filter.

    Raises:
        ScimError: If it is malformed, or uses operators that are not supported.
    """
    comparisons, rest = [], text.strip()
    while len(text) <= _MAX_CHARACTERS and (match := _COMPARISON.match(rest)):
        attribute, operator, value, required_attribute = match.groups()
        if required_attribute:
            comparisons.append(Comparison(required_attribute.lower(), "pr", None))
        else:
            comparisons.append(Comparison(attribute.lower(), operator.lower(), _read_value(value)))
        rest = rest[match.end() :].lstrip()
        if not rest:
            return comparisons
        joined = re.match(r"and\s+", rest, re.IGNORECASE)
        if joined is None:
            break
        rest = rest[joined.end() :]
    raise ScimError(400, _UNSUPPORTED, "invalidFilter")


def _read_value(text: str) -> str | bool:
    try:
        value: str | bool = json.loads(text if text.startswith('"') else text.lower())
    except ValueError:
        raise ScimError(400, "The filter has a malformed text.", "invalidFilter") from None
    if isinstance(value, str) and not is_storable(value):
        raise ScimError(400, "The filter has a malformed text.", "invalidFilter")
    return value


def to_condition(text: str, fields: Mapping[str, str]) -> Q:
    """Build the condition for the database.

    Args:
        text: The filter.
        fields: The field of each attribute that may be compared; `id` and boolean fields too.

    Raises:
        ScimError: If the filter is malformed, or an attribute cannot be compared.
    """
    condition = Q()
    for comparison in parse(text):
        field = fields.get(comparison.attribute)
        if field is None:
            raise ScimError(400, f"Resources cannot be filtered by {comparison.attribute}.", "invalidFilter")
        condition &= _condition(comparison, field)
    return condition


def _condition(comparison: Comparison, field: str) -> Q:
    if comparison.operator == "pr":
        return Q(**{f"{field}__isnull": False})
    if isinstance(comparison.value, bool):
        matches = Q(**{field: comparison.value})
    elif field.endswith("pk"):
        matches = Q(**{field: as_uuid(str(comparison.value))}) if as_uuid(str(comparison.value)) else Q(pk__in=[])
    else:
        matches = Q(**{f"{field}__{_LOOKUPS[comparison.operator]}": str(comparison.value)})
    return ~matches if comparison.operator == "ne" else matches
