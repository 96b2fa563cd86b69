"""Copies whole tables out of the database and into an empty one, with PostgreSQL's COPY, for backups.

Values are in COPY's binary format, which does not depend on the version of the server.
"""

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction
from psycopg import IsolationLevel

# Generated columns are computed again.
_TABLES = """
SELECT relname, array_agg(attname::text ORDER BY attnum)
FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
    AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
GROUP BY relname ORDER BY relname
"""
_IS_EMPTY = "SELECT NOT EXISTS (SELECT FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace)"
_SEQUENCES = "SELECT sequencename, last_value FROM pg_sequences WHERE schemaname = 'public' AND last_value IS NOT NULL"
_EXTENSIONS = "SELECT extname, extversion FROM pg_extension WHERE extname <> 'plpgsql' ORDER BY 1"
# What slows down or prevents COPY, as pairs of statements: one that removes it, and one that creates it again. Indexes
# of constraints stay. Foreign keys come after the unique indexes that they need, and are checked faster before
# row-level security is forced again.
_OBSTACLES = """
SELECT format('ALTER TABLE %1$s DISABLE TRIGGER %2$I', tgrelid::regclass, tgname),
    format('ALTER TABLE %1$s ENABLE TRIGGER %2$I', tgrelid::regclass, tgname), 1 AS position
FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND NOT tgisinternal AND tgenabled <> 'D'
UNION ALL
SELECT format('DROP INDEX %1$s', indexrelid::regclass), pg_get_indexdef(indexrelid), 2
FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
WHERE relnamespace = 'public'::regnamespace AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid)
UNION ALL
SELECT format('ALTER TABLE %1$s DROP CONSTRAINT %2$I', conrelid::regclass, conname),
    format('ALTER TABLE %1$s ADD CONSTRAINT %2$I %3$s', conrelid::regclass, conname, pg_get_constraintdef(oid)), 3
FROM pg_constraint WHERE contype = 'f' AND connamespace = 'public'::regnamespace
UNION ALL
SELECT format('ALTER TABLE %1$s NO FORCE ROW LEVEL SECURITY', oid::regclass),
    format('ALTER TABLE %1$s FORCE ROW LEVEL SECURITY', oid::regclass), 4
FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND relforcerowsecurity
ORDER BY position
"""


@dataclass(frozen=True, slots=True)
class Table:
    """A table, and its columns that have values of their own."""

    name: str
    columns: tuple[str, ...]

    @property
    def sql(self) -> str:
        """The name and the columns, for COPY."""
        quote = connection.ops.quote_name
        return f"{quote(self.name)} ({', '.join(map(quote, self.columns))})"


@contextlib.contextmanager
def snapshot() -> Iterator[None]:
    """Read the database in this block as it is at the first statement. Writers are not disturbed."""
    connection.ensure_connection()
    session = connection.connection
    session.isolation_level, session.read_only = IsolationLevel.REPEATABLE_READ, True
    try:
        with transaction.atomic(durable=True):
            yield
    finally:
        if not session.closed:
            session.isolation_level = session.read_only = None


def list_tables() -> list[Table]:
    return [Table(name, tuple(columns)) for name, columns in _fetch(_TABLES)]


def list_extensions() -> dict[str, str]:
    """Return the version of each extension."""
    return dict(_fetch(_EXTENSIONS))


def server_version() -> int:
    """Return the version of PostgreSQL as one number, such as 180004."""
    session = connection.connection
    return int(session.info.server_version)


def read_sequences() -> dict[str, int]:
    """Return the last value of each sequence that was used."""
    return dict(_fetch(_SEQUENCES))


def is_empty() -> bool:
    """Return whether the database has no table."""
    return bool(_fetch(_IS_EMPTY)[0][0])


class CopyOut:
    """The rows of a table or a query, in parts. Read it once, in a transaction.

    Row-level security applies: read as the worker, who sees all rows.

    Attributes:
        row_count: How many rows were read, after the last one.
    """

    def __init__(self, query: str, *, as_text: bool = False) -> None:
        self._statement = f"COPY ({query}) TO STDOUT" + ("" if as_text else " (FORMAT binary)")
        self.row_count = 0

    def __iter__(self) -> Iterator[bytes]:
        with connection.cursor() as cursor:
            cursor.execute("SELECT")  # sets the identity, which happens with statements that Django sends
            with cursor.copy(self._statement) as parts:
                for part in parts:
                    yield bytes(part)
            self.row_count = cursor.rowcount


def copy_out(table: Table) -> CopyOut:
    quote = connection.ops.quote_name
    return CopyOut(f"SELECT {', '.join(map(quote, table.columns))} FROM {quote(table.name)}")


def copy_in(table: Table, parts: Iterable[bytes]) -> int:
    """Insert rows that `copy_out` has read, and return their number. Call it inside `with loading(...)`."""
    with connection.cursor() as cursor:
        with cursor.copy(f"COPY {table.sql} FROM STDIN (FORMAT binary)") as copy:
            for part in parts:
                copy.write(part)
        return int(cursor.rowcount)


@contextlib.contextmanager
def loading(*, memory_mb: int, sequences: dict[str, int]) -> Iterator[None]:
    """Replace all rows in this block, in one transaction, as the owner of the tables.

    The block runs without indexes, foreign keys, triggers and row-level security. They are created again after it.

    Args:
        memory_mb: PostgreSQL's memory for creating an index.
        sequences: The last value of each sequence.
    """
    with transaction.atomic(durable=True), connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL maintenance_work_mem = '{memory_mb:d}MB'")
        removals, creations, _ = zip(*_fetch(_OBSTACLES), strict=True)
        for statement in reversed(removals):
            cursor.execute(statement)
        names = ", ".join(connection.ops.quote_name(table.name) for table in list_tables())
        cursor.execute(f"TRUNCATE {names}")
        yield
        for statement in creations:
            cursor.execute(statement)
        for name, value in sequences.items():
            cursor.execute("SELECT setval(quote_ident(%s)::regclass, %s)", [name, value])


def analyze() -> None:
    """Update the statistics of the planner."""
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


def _fetch(query: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(query)
        return list(cursor.fetchall())
