"""The sizes of the database, its largest tables and indexes, and the file system of the original files."""

import os
import shutil
from dataclasses import dataclass

from django.conf import settings
from django.db import connection

_MAX_TABLES = 8
_TABLES = """
SELECT relname, pg_table_size(oid), pg_indexes_size(oid) FROM pg_class
WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
ORDER BY relpages DESC, relname LIMIT 40
"""


@dataclass(frozen=True, slots=True)
class TableSize:
    """A table: bytes of its rows and of its indexes."""

    name: str
    rows_bytes: int
    index_bytes: int


@dataclass(frozen=True, slots=True)
class Sizes:
    """What the installation occupies, in bytes.

    Attributes:
        tables: The largest tables, largest first.
        disk_total: The usable size of the file system with the original files, without what is reserved for root; None
            if they are in a bucket.
        disk_free: What is free on it.
    """

    database: int
    indexes: int
    tables: tuple[TableSize, ...]
    disk_total: int | None
    disk_free: int | None


def measure_sizes() -> Sizes:
    """Return the sizes. Only table statistics are read, never the rows."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_database_size(current_database())")
        database = int(cursor.fetchone()[0])
        cursor.execute(_TABLES)
        tables = [TableSize(*row) for row in cursor.fetchall()]
    total, free = _disk()
    largest = sorted(tables, key=lambda table: -(table.rows_bytes + table.index_bytes))[:_MAX_TABLES]
    return Sizes(database, sum(table.index_bytes for table in tables), tuple(largest), total, free)


def _disk() -> tuple[int | None, int | None]:
    """Return the usable and the free bytes of the file system with the files; None twice if there is no folder."""
    folder = "" if settings.RAG_STORAGE_S3_BUCKET else str(settings.RAG_STORAGE_FOLDER)
    while folder and not os.path.isdir(folder):  # created with the first file
        parent = os.path.dirname(folder)
        folder = parent if parent != folder else ""
    if not folder:
        return None, None
    usage = shutil.disk_usage(folder)
    return usage.used + usage.free, usage.free  # as df counts: usage.total includes what is reserved for root
