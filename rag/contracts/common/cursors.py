"""Cursors of lists: where the next page begins, as the sorted values of the last entry before it.

Pages by number shift when an entry before them is added or deleted; pages by cursor neither skip nor repeat an entry. A
cursor is signed and belongs to one path. It grants nothing: each page is read from what the caller may see then.
"""

import base64
import json
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import urlencode

from django.core import signing
from django.core.exceptions import ValidationError as InvalidValue
from django.db.models import Field, Model, Q, QuerySet
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

# The longest path of a document and its signature. A web server refuses a request line of more than 8,190 bytes.
MAX_CHARACTERS = 3_000

Row = TypeVar("Row", bound=Model)


@dataclass(frozen=True, slots=True)
class Position:
    """Where a page begins.

    Attributes:
        page: The number of the page, from 1.
        after: The values of the fields by which the list is sorted, of the last entry before it; empty for the first.
    """

    page: int
    after: tuple[str | int, ...]


def read(request: Request) -> Position | None:
    """Return the position that the request's cursor stands for; None without a cursor.

    Raises:
        ValidationError: If it is not a cursor of this list, or there is a page number too.
    """
    cursor = request.query_params.get("cursor")
    if cursor is None:
        return None
    if "page" in request.query_params:
        raise ValidationError({"cursor": "send either cursor or page"})
    try:
        encoded = _signer(request).unsign(cursor[: MAX_CHARACTERS + 1])
        page, *after = json.loads(base64.urlsafe_b64decode(encoded))
    except (signing.BadSignature, ValueError):
        message = "cursor must be copied from the Link header of a previous page of this list"
        raise ValidationError({"cursor": message}) from None
    return Position(page, tuple(after))


def rows_after(rows: QuerySet[Row], position: Position) -> QuerySet[Row]:
    """Return the rows after a position, in the order of the list."""
    fields = list_sort_fields(rows)
    rows = rows.order_by(*(f"-{name}" if is_descending else name for name, is_descending in fields))
    if not position.after:
        return rows
    try:
        pairs = zip(fields, position.after, strict=True)
        values = [_field(rows.model, name).to_python(value) for (name, _), value in pairs]
    except (ValueError, InvalidValue):  # of an earlier release, which sorted differently
        raise ValidationError({"cursor": "cursor has expired; begin with the first page"}) from None
    is_after, has_equal_fields = Q(), Q()
    for (name, is_descending), value in zip(fields, values, strict=True):
        is_after |= has_equal_fields & Q(**{f"{name}__{'lt' if is_descending else 'gt'}": value})
        has_equal_fields &= Q(**{name: value})
    name, is_descending = fields[0]
    # An index finds the beginning with this condition, which follows from the other one.
    return rows.filter(Q(**{f"{name}__{'lte' if is_descending else 'gte'}": values[0]}) & is_after)


def link_to_next(request: Request, rows: QuerySet[Model], last: Model, next_page: int) -> str:
    """Return the value of the `Link` header (RFC 8288) for the page after this entry."""
    values = [_value(last, name) for name, _ in list_sort_fields(rows)]
    content = json.dumps([next_page, *values], ensure_ascii=False, separators=(",", ":"))
    cursor = _signer(request).sign(base64.urlsafe_b64encode(content.encode()).decode())
    other_parameters = {name: value for name, value in request.query_params.items() if name != "page"}
    return f'<{request.path}?{urlencode({**other_parameters, "cursor": cursor})}>; rel="next"'


def _signer(request: Request) -> signing.Signer:
    return signing.Signer(salt=f"cursor {request.path.rstrip('/')}")


def list_sort_fields(rows: QuerySet[Model]) -> list[tuple[str, bool]]:
    """Return the sort fields of a list, and whether each is descending. The key is the last one, to break ties."""
    model = rows.model
    key = model._meta.pk.name
    fields = []
    for name in map(str, rows.query.order_by or model._meta.ordering or ()):
        field = key if name.lstrip("-") == "pk" else name.lstrip("-")
        related = model._meta.get_field(field).related_model if "__" not in field else None
        # Rows are sorted by a relation as the related rows are.
        names = [f"{field}__{other}" for other in related._meta.ordering or ()] if related else [field]
        fields += [(name_of_field, name.startswith("-")) for name_of_field in names]
    return fields if key in dict(fields) else [*fields, (key, bool(fields) and fields[-1][1])]


def _field(model: type[Model], path: str) -> "Field[object, object]":
    *relations, name = path.split("__")
    for relation in relations:
        model = model._meta.get_field(relation).related_model  # type: ignore[assignment]
    field = model._meta.get_field(name)
    assert isinstance(field, Field)
    return field


def _value(row: Model, path: str) -> str:
    *relations, name = path.split("__")
    for relation in relations:
        row = getattr(row, relation)
    return str(_field(type(row), name).value_to_string(row))
