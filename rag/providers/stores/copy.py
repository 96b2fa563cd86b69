"""COPY in its binary form: three times as fast as INSERT."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db import connection


def copy(table: str, columns: Mapping[str, str], rows: Iterable[Sequence[Any]]) -> None:
    """columns: names and types. A column of another type takes the bytes of its binary form, as `bytea`."""
    names = ", ".join(connection.ops.quote_name(name) for name in columns)
    with connection.cursor() as cursor, cursor.copy(f"COPY {table} ({names}) FROM STDIN (FORMAT BINARY)") as copying:
        copying.set_types(list(columns.values()))
        for row in rows:
            copying.write_row(row)
