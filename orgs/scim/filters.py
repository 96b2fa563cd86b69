"""SCIM filters: comparisons that are joined with `and` (RFC 7644, 3.4.2.2)."""

import dataclasses
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from django.db.models import Q

from ragsite.postgres.models import as_uuid, is_storable

from .errors import ScimError

# An attribute may name its schema, and may select elements and one of their attributes: emails[type eq "work"].value.
_COMPARISON = re.compile(
    r"(?:urn:[\w:.-]+:)?([\w.$-]+)(?:\[([^\[\]]*)\](\.[\w$-]+)?)?\s+"
    r'(?:(eq|ne|co|sw|ew)\s+("(?:[^"\\]|\\.)*"|true|false)|pr\b)',
    re.IGNORECASE,
)
_MAX_CHARACTERS = 2_000
_UNSUPPORTED = "Supported filters are comparisons with eq, ne, co, sw, ew and pr, joined with and."
_LOOKUPS = {"eq": "iexact", "ne": "iexact", "co": "icontains", "sw": "istartswith", "ew": "iendswith"}


@dataclass(frozen=True, slots=True)
class Constant:
    """A value that an attribute has in all resources."""

    value: str | bool


@dataclass(frozen=True, slots=True)
class Comparison:
    """An attribute, lower-case and without its schema, and what it is compared with. `pr` has no value."""

    attribute: str
    operator: str
    value: str | bool | None


def parse(text: str) -> list[Comparison]:
    """Return the comparisons of a filter, all of which must hold.

    A condition in brackets becomes a comparison of its own: `emails.type eq "work"`.

    Raises:
        ScimError: If it is malformed or too long, or uses operators that are not supported.
    """
    if len(text) > _MAX_CHARACTERS:
        raise ScimError(400, f"A filter may have {_MAX_CHARACTERS:,} characters.", "invalidFilter")
    comparisons, rest = [], text.strip()
    while match := _COMPARISON.match(rest):
        attribute, elements, part, operator, value = match.groups()
        attribute = attribute.lower()
        if elements is not None:
            comparisons += [
                dataclasses.replace(inner, attribute=f"{attribute}.{inner.attribute}") for inner in parse(elements)
            ]
        attribute += (part or "").lower()
        if operator is None:
            comparisons.append(Comparison(attribute, "pr", None))
        else:
            comparisons.append(Comparison(attribute, operator.lower(), _read_value(value)))
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
        raise ScimError(400, "The filter has a malformed string.", "invalidFilter") from None
    if isinstance(value, str) and not is_storable(value):
        raise ScimError(400, "The filter has a malformed string.", "invalidFilter")
    return value


def to_condition(text: str, fields: Mapping[str, str | Constant]) -> Q:
    """Build the condition for the database.

    Args:
        text: The filter.
        fields: The field, or the constant value, of each attribute that may be compared.

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


def _condition(comparison: Comparison, field: str | Constant) -> Q:
    if isinstance(field, Constant):
        is_equal = str(comparison.value).lower() == str(field.value).lower()
        if comparison.operator not in ("eq", "ne", "pr"):
            raise ScimError(400, f"{comparison.attribute} is compared with eq, ne and pr.", "invalidFilter")
        matches_all = comparison.operator == "pr" or is_equal == (comparison.operator == "eq")
        return Q() if matches_all else Q(pk__in=[])
    if comparison.operator == "pr":  # neither missing nor empty (RFC 7644, 3.4.2.2)
        is_text = field != "is_active" and not field.endswith("pk")
        return Q(**{f"{field}__gt": ""}) if is_text else Q(**{f"{field}__isnull": False})
    if isinstance(comparison.value, bool):
        matches = Q(**{field: comparison.value})
    elif field.endswith("pk"):
        matches = Q(**{field: as_uuid(str(comparison.value))}) if as_uuid(str(comparison.value)) else Q(pk__in=[])
    else:
        matches = Q(**{f"{field}__{_LOOKUPS[comparison.operator]}": str(comparison.value)})
    return ~matches if comparison.operator == "ne" else matches
