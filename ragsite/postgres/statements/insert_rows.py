"""Inserts many rows of a model, with one parameter for each statement."""

import datetime
import json
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

from django.db import connection, models

_MAX_ROWS = 500
# A statement has this many characters at most, or a single row: PostgreSQL refuses a value of one gigabyte.
_MAX_CHARACTERS = 16_000_000


def insert_rows(rows: Sequence[models.Model]) -> None:
    """Insert new rows of one model, up to 500 with each statement.

    PostgreSQL reads them from one JSON text. `bulk_create` composes a placeholder for each value if the model has an
    array, which takes several times as long as inserting. Signals are not sent, and changes are not recorded in the
    audit trail, so the model must not be tracked.

    Args:
        rows: The rows, with their keys. Their values must be such that JSON can express: texts, numbers, UUIDs, times,
            lists of texts, bytes, None, and for JSON columns anything but null.

    Raises:
        TypeError: If JSON cannot express a value.
        IntegrityError: If the database refuses a row. Earlier statements are then undone with their transaction only.
    """
    if not rows:
        return
    table = connection.ops.quote_name(rows[0]._meta.db_table)
    columns = ", ".join(map(connection.ops.quote_name, _values(rows[0])))
    statement = f"INSERT INTO {table} ({columns}) SELECT {columns} FROM json_populate_recordset(NULL::{table}, %s)"
    with connection.cursor() as cursor:
        for batch in _batches(rows):
            cursor.execute(statement, [f"[{','.join(batch)}]"])


def _batches(rows: Sequence[models.Model]) -> Iterator[list[str]]:
    """Yield the rows of each statement as JSON objects."""
    batch: list[str] = []
    size = 0
    for row in rows:
        encoded = json.dumps(_values(row), ensure_ascii=False, default=_to_text)
        if batch and (len(batch) == _MAX_ROWS or size + len(encoded) > _MAX_CHARACTERS):
            yield batch
            batch, size = [], 0
        batch.append(encoded)
        size += len(encoded)
    yield batch


def _values(row: models.Model) -> dict[str, Any]:
    """Return the values of a row by their columns."""
    return {field.column: field.pre_save(row, add=True) for field in row._meta.concrete_fields if field.column}


def _to_text(value: object) -> str:
    """Return a value that JSON has no type for as PostgreSQL reads it."""
    if isinstance(value, uuid.UUID | datetime.datetime):
        return str(value)
    if isinstance(value, bytes):
        return f"\\x{value.hex()}"
    raise TypeError(f"JSON cannot express {type(value).__name__}.")
