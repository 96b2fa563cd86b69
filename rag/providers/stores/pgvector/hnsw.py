"""The HNSW index of each table of vectors: built when it pays, and not row by row during a first load.

Entering rows into a live index is what bounds writing (about 400 a second); building it over rows that are there takes
a quarter of the time. Until it is there every search is exact, which is right at any size and quick up to the limit.
"""

from dataclasses import dataclass

import structlog
from django.conf import settings
from django.db import connection

from rag.models import EMBEDDING_TABLES
from ragsite.postgres.base import owning
from ragsite.postgres.locks import session_lock

logger = structlog.get_logger(__name__)

# m and ef_construction: docs/decisions/0020-vector-storage.md.
_CREATE = (
    "CREATE INDEX CONCURRENTLY {name} ON {table} USING hnsw (embedding halfvec_cosine_ops) "
    "WITH (m = 16, ef_construction = 128)"
)


@dataclass(frozen=True, slots=True)
class IndexState:
    """rows: about as many are there now. inserted: how many ever were, since the statistics began."""

    dimensions: int
    is_there: bool
    rows: int
    inserted: int


def states() -> list[IndexState]:
    """Of every table, from the statistics that PostgreSQL keeps anyway."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT stat.relname, stat.n_live_tup, stat.n_tup_ins, coalesce(entry.indisvalid, false) "
            "FROM pg_stat_user_tables AS stat LEFT JOIN pg_index AS entry "
            "ON entry.indrelid = stat.relid AND entry.indexrelid::regclass::text LIKE '%%\\_hnsw' "
            "WHERE stat.relid = ANY(%s::regclass[])",
            [[_table(dimensions) for dimensions in EMBEDDING_TABLES]],
        )
        found = {name: values for name, *values in cursor.fetchall()}
    return [
        IndexState(dimensions, is_there=valid, rows=rows, inserted=inserted)
        for dimensions in EMBEDDING_TABLES
        for rows, inserted, valid in [found[_table(dimensions)]]
    ]


def build(dimensions: int) -> bool:
    """Build the index beside readers and writers; False if another process is at it. An unfinished one is replaced."""
    with owning(), session_lock(f"hnsw/{dimensions}") as is_acquired, connection.cursor() as cursor:
        if not is_acquired:
            return False
        logger.info("vector_index_build_begun", dimensions=dimensions)
        cursor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {_name(dimensions)}")
        cursor.execute(
            "SELECT set_config('maintenance_work_mem', %s, false)", [f"{settings.RAG_INDEX_BUILD_MEMORY_MB}MB"]
        )
        try:
            cursor.execute(_CREATE.format(name=_name(dimensions), table=_table(dimensions)))
        finally:
            cursor.execute("RESET maintenance_work_mem")
        logger.info("vector_index_built", dimensions=dimensions)
    return True


def drop(dimensions: int) -> None:
    """Searches are exact until it is built again."""
    with owning(), connection.cursor() as cursor:
        cursor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {_name(dimensions)}")


def _table(dimensions: int) -> str:
    return str(EMBEDDING_TABLES[dimensions]._meta.db_table)


def _name(dimensions: int) -> str:
    return f"embedding{dimensions}_hnsw"
