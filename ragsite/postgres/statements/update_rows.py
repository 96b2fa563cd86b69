"""Updates many rows of a model, each to values of its own, with one parameter for each statement."""

from collections.abc import Iterable, Sequence

from django.db import connection, models

from .rows_as_json import encode_batches


def update_rows(rows: Sequence[models.Model], names: Iterable[str]) -> None:
    """Write these fields of stored rows of one model, up to 500 rows with each statement.

    As `insert_rows`, it sends no signals and records nothing in the audit trail. The rows are locked in any order, so
    other writers of them must be kept waiting before.

    Args:
        rows: The rows, with values that JSON can express (encode_batches).
        names: The names of the fields. A time of the last change (auto_now) is set to now, in the instances too.

    Raises:
        TypeError: If JSON cannot express a value.
        IntegrityError: If the database refuses a value. Earlier statements are then undone with their transaction only.
    """
    if not rows:
        return
    options, quote = rows[0]._meta, connection.ops.quote_name
    by_name = {field.name: field for field in options.concrete_fields}
    fields = [by_name[name] for name in names]
    table, key = quote(options.db_table), quote(str(options.pk.column))
    columns = [quote(str(field.column)) for field in fields]
    statement = (
        f"UPDATE {table} AS stored SET {', '.join(f'{column} = given.{column}' for column in columns)} "
        f"FROM json_populate_recordset(NULL::{table}, %s) AS given WHERE stored.{key} = given.{key}"
    )
    with connection.cursor() as cursor:
        for batch in encode_batches(rows, [by_name[options.pk.name], *fields], are_new=False):
            cursor.execute(statement, [batch])
