"""Rows as JSON texts, from which a statement reads many of them with one parameter."""

import datetime
import json
import uuid
from collections.abc import Callable, Iterator, Sequence

from django.db import models

_MAX_ROWS = 500
# A statement has this many characters at most, or a single row: PostgreSQL refuses a value of one gigabyte.
_MAX_CHARACTERS = 16_000_000
# How PostgreSQL reads values that JSON has no type for.
_TO_TEXT: dict[type, Callable[..., str]] = {
    uuid.UUID: str,
    datetime.datetime: str,
    bytes: lambda value: f"\\x{value.hex()}",
}


def encode_batches(
    rows: Sequence[models.Model], fields: "Sequence[models.Field[object, object]]", *, are_new: bool
) -> Iterator[str]:
    """Yield the rows as JSON arrays for json_populate_recordset, up to 500 rows in each.

    Args:
        rows: Rows of one model. Their values must be such that JSON can express: texts, numbers, UUIDs, times, lists of
            texts, bytes, None, and for JSON columns anything but null.
        fields: The fields of the model that are written.
        are_new: Whether the rows are to be inserted. Fields such as the time of the last change depend on it.

    Raises:
        TypeError: If JSON cannot express a value.
    """
    encode = json.JSONEncoder(ensure_ascii=False, default=_to_text).encode
    # Most values are those of the attributes. To call a method for each takes longer than encoding all of them.
    computed = [field for field in fields if type(field).pre_save is not models.Field.pre_save]
    attributes = [(field.column, field.attname) for field in fields if field not in computed]
    batch: list[str] = []
    size = 0
    for row in rows:
        values = {column: getattr(row, name) for column, name in attributes}
        values.update((field.column, field.pre_save(row, add=are_new)) for field in computed)
        encoded = encode(values)
        if batch and (len(batch) == _MAX_ROWS or size + len(encoded) > _MAX_CHARACTERS):
            yield f"[{','.join(batch)}]"
            batch, size = [], 0
        batch.append(encoded)
        size += len(encoded)
    if batch:
        yield f"[{','.join(batch)}]"


def _to_text(value: object) -> str:
    """Return a value that JSON has no type for as PostgreSQL reads it."""
    if to_text := _TO_TEXT.get(type(value)):
        return to_text(value)
    raise TypeError(f"JSON cannot express {type(value).__name__}.")
