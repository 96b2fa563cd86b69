"""The HNSW index of each table of vectors. It is built over existing rows, not row by row during a first load.

The insertion into an existing index limits the speed of writing to about 400 rows a second. Building the index over
existing rows takes a quarter of that time. Until the index exists, every search is exact: correct at any size, and fast
up to the limit.
"""

import structlog
from django.conf import settings
from django.db import connection

from rag.models.content.pgvector_tables import EMBEDDING_TABLES
from rag.providers.stores.base import VectorIndex
from ragsite.postgres.base import run_as_owner
from ragsite.postgres.locks import session_lock

logger = structlog.get_logger(__name__)

# m and ef_construction: docs/decisions/0020-vector-storage.md. The SQL functions that search set hnsw.ef_search
# (`rag_nearest_by_index`, in the newest file of rag/migrations/sql that has it).
_CREATE = (
    "CREATE INDEX CONCURRENTLY {name} ON {table} USING hnsw (embedding halfvec_cosine_ops) "
    "WITH (m = 16, ef_construction = 128)"
)


def list_indexes() -> list[VectorIndex]:
    """Return the index of every table, with the row counts that PostgreSQL's statistics have anyway."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT stat.relname, stat.n_live_tup, stat.n_tup_ins, coalesce(entry.indisvalid, false) "
            "FROM pg_stat_user_tables AS stat LEFT JOIN pg_index AS entry "
            "ON entry.indrelid = stat.relid AND entry.indexrelid::regclass::text LIKE '%%\\_hnsw' "
            "WHERE stat.relid = ANY(%s::regclass[])",
            [[_table(dimensions) for dimensions in EMBEDDING_TABLES]],
        )
        statistics = {name: values for name, *values in cursor.fetchall()}
    return [
        VectorIndex(dimensions, is_built=is_valid, row_count=row_count, inserted_count=inserted_count)
        for dimensions in EMBEDDING_TABLES
        for row_count, inserted_count, is_valid in [statistics[_table(dimensions)]]
    ]


def build(dimensions: int) -> bool:
    """Build the index while others read and write, and replace an unfinished one.

    Returns:
        False if another process is building it.
    """
    # A lock of the session: CREATE INDEX CONCURRENTLY cannot run in a transaction.
    with run_as_owner(), session_lock(f"hnsw/{dimensions}") as is_acquired, connection.cursor() as cursor:
        if not is_acquired:
            return False
        logger.info("vector_index_build_started", dimensions=dimensions)
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
    """Drop the index: searches are exact until it is built again."""
    with run_as_owner(), connection.cursor() as cursor:
        cursor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {_name(dimensions)}")


def _table(dimensions: int) -> str:
    return str(EMBEDDING_TABLES[dimensions]._meta.db_table)


def _name(dimensions: int) -> str:
    return f"embedding{dimensions}_hnsw"
