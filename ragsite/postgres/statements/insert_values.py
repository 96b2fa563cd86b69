"""Inserts a few rows whose values are sent as they are, some in PostgreSQL's binary format."""

from collections.abc import Mapping, Sequence

from django.db import connection
from psycopg.adapt import Dumper
from psycopg.pq import Format


class _BinaryValue(bytes):
    """A value in the binary format of its column's type."""


class _BinaryDumper(Dumper):
    """Sends a value as it is. PostgreSQL infers its type from the column."""

    format = Format.BINARY

    def dump(self, obj: bytes) -> bytes:
        return obj


def insert_values(table: str, columns: Mapping[str, str], rows: Sequence[Sequence[object]]) -> None:
    """Insert rows with one statement, which has a placeholder for each value: for a few rows only.

    Args:
        table: The name of the table.
        columns: Name of each column → PostgreSQL type. The values of `bytea` are the bytes of the column's binary
            format, as those of a vector.
        rows: The rows. Each has its values in the order of the columns.
    """
    if not rows:
        return
    names = ", ".join(connection.ops.quote_name(name) for name in columns)
    row_of_placeholders = f"({', '.join(['%s'] * len(columns))})"
    placeholders = ", ".join([row_of_placeholders] * len(rows))
    values = [
        _BinaryValue(value) if type_name == "bytea" and isinstance(value, bytes) else value
        for row in rows
        for value, type_name in zip(row, columns.values(), strict=True)
    ]
    with connection.cursor() as cursor:
        cursor.cursor.adapters.register_dumper(_BinaryValue, _BinaryDumper)
        cursor.execute(
            f"INSERT INTO {table} ({names}) VALUES {placeholders}",
            values,  # type: ignore[arg-type]  # the stubs do not know that psycopg has dumpers for more types
        )
