"""Inserts many rows of a model, with one parameter for each statement."""

import datetime
import json
import uuid
from collections.abc import Sequence
from typing import Any

from django.db import connection, models

_MAX_ROWS = 500


def insert_rows(rows: Sequence[models.Model]) -> None:
    """Insert new rows of one model, 500 with each statement.

    PostgreSQL reads them from one JSON text. `bulk_create` composes a placeholder for each value if the model has an
    array, which takes several times as long as inserting. Signals are not sent, and changes are not recorded in the
    audit trail, so the model must not be tracked.

    Args:
        rows: The rows, with their keys. Their values must be such that JSON can express: texts, numbers, UUIDs, times,
            lists of texts, and for JSON columns anything but null.

    Raises:
        TypeError: If JSON cannot express a value.
        IntegrityError: If the database refuses a row. Earlier statements are then undone with their transaction only.
    """
    for start in range(0, len(rows), _MAX_ROWS):
        batch = [_values(row) for row in rows[start : start + _MAX_ROWS]]
        table = connection.ops.quote_name(rows[0]._meta.db_table)
        columns = ", ".join(map(connection.ops.quote_name, batch[0]))
        with connection.cursor() as cursor:
            cursor.execute(
                f"INSERT INTO {table} ({columns}) SELECT {columns} FROM json_populate_recordset(NULL::{table}, %s)",
                [json.dumps(batch, ensure_ascii=False, default=_to_text)],
            )


def _values(row: models.Model) -> dict[str, Any]:
    """Return the values of a row by their columns."""
    return {field.column: field.pre_save(row, add=True) for field in row._meta.concrete_fields if field.column}


def _to_text(value: object) -> str:
    """Return a value that JSON has no type for as PostgreSQL reads it."""
    if isinstance(value, uuid.UUID | datetime.datetime):
        return str(value)
    raise TypeError(f"JSON cannot express {type(value).__name__}.")
