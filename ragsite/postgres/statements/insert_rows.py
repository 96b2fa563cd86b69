"""Inserts many rows of a model, with one parameter for each statement."""

from collections.abc import Sequence

from django.db import connection, models

from .rows_as_json import encode_batches


def insert_rows(rows: Sequence[models.Model]) -> None:
    """Insert new rows of one model, up to 500 with each statement.

    PostgreSQL reads them from one JSON text. `bulk_create` composes a placeholder for each value if the model has an
    array, which takes several times as long as inserting. Signals are not sent, and changes are not recorded in the
    audit trail, so the model must not be tracked.

    Args:
        rows: The rows, with their keys and values that JSON can express (encode_batches).

    Raises:
        TypeError: If JSON cannot express a value.
        IntegrityError: If the database refuses a row. Earlier statements are then undone with their transaction only.
    """
    if not rows:
        return
    table = connection.ops.quote_name(rows[0]._meta.db_table)
    fields = rows[0]._meta.concrete_fields
    columns = ", ".join(connection.ops.quote_name(str(field.column)) for field in fields)
    statement = f"INSERT INTO {table} ({columns}) SELECT {columns} FROM json_populate_recordset(NULL::{table}, %s)"
    with connection.cursor() as cursor:
        for batch in encode_batches(rows, fields, are_new=True):
            cursor.execute(statement, [batch])
