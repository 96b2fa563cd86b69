"""Checks the term statistics, which must always be the sums over the rows of chunks (bm25_index.py).

Those of an organisation must be the sums over its sources (rag/migrations/sql/access_list_statistics.sql).
"""

import uuid

from django.db import connection

# (table of the statistics, its column, SQL of the rows that it counts)
_STATISTICS = (
    ("rag_sourceterm", "term", "rag_chunkterms, unnest(terms) AS term"),
    ("rag_sourceconfig", "config", "rag_chunkterms"),
)
_DIFFERENCES = (
    "SELECT {column}, counted.chunks FROM "
    "(SELECT {column}, count(*) AS chunks FROM {rows} WHERE source_id = %(source)s GROUP BY {column}) AS counted "
    # A configuration that no chunk has any more stays, with a count of 0.
    "FULL JOIN (SELECT {column}, chunks FROM {table} WHERE source_id = %(source)s AND chunks <> 0) AS stored "
    "USING ({column}) WHERE counted.chunks IS DISTINCT FROM stored.chunks"
)

_TOTALS = (
    ("rag_organizationterm", "term", "rag_sourceterm"),
    ("rag_organizationconfig", "config", "rag_sourceconfig"),
)
_TOTAL_DIFFERENCES = (
    "SELECT access_list_id, {column}, summed.chunks FROM "
    "(SELECT access_list_id, {column}, sum(chunks) AS chunks FROM {table} "
    "JOIN rag_datasource ON id = source_id AND deleted_at IS NULL AND organization_id = %(organization)s "
    "WHERE chunks <> 0 GROUP BY access_list_id, {column}) AS summed "
    "FULL JOIN (SELECT access_list_id, {column}, chunks FROM {total} WHERE organization_id = %(organization)s) "
    "AS stored USING (access_list_id, {column}) WHERE summed.chunks IS DISTINCT FROM stored.chunks"
)


def count_wrong(source_id: uuid.UUID) -> int:
    """Return how many counts of the source are wrong.

    The result is correct even while others write: one statement reads rows and counts, and one transaction writes both.
    """
    queries = " UNION ALL ".join(
        f"SELECT count(*) FROM ({_differences(*statistics)}) AS wrong" for statistics in _STATISTICS
    )
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT sum(count) FROM ({queries}) AS counts", {"source": source_id})
        return int(cursor.fetchone()[0])


def repair(source_id: uuid.UUID) -> None:
    """Correct the wrong counts of the source. The calling code has locked them (`bm25_index.lock_statistics`)."""
    with connection.cursor() as cursor:
        for table, column, rows in _STATISTICS:
            cursor.execute(
                f"MERGE INTO {table} AS old USING ({_differences(table, column, rows)}) AS new "
                f"ON old.source_id = %(source)s AND old.{column} = new.{column} "
                "WHEN MATCHED AND new.chunks IS NULL THEN DELETE "
                "WHEN MATCHED THEN UPDATE SET chunks = new.chunks "
                f"WHEN NOT MATCHED THEN INSERT (source_id, {column}, chunks) "
                f"VALUES (%(source)s, new.{column}, new.chunks)",
                {"source": source_id},
            )


def count_wrong_totals(organization_id: uuid.UUID) -> int:
    """Return how many totals of the organisation are wrong. It is correct even while others write, as `count_wrong`."""
    queries = " UNION ALL ".join(
        f"SELECT count(*) FROM ({_TOTAL_DIFFERENCES.format(total=total, column=column, table=table)}) AS wrong"
        for total, column, table in _TOTALS
    )
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT sum(count) FROM ({queries}) AS counts", {"organization": organization_id})
        return int(cursor.fetchone()[0])


def repair_totals(organization_id: uuid.UUID) -> None:
    """Correct the wrong totals of the organisation. Its other writers wait until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT rag_lock_statistics(ARRAY[%s::uuid])", [organization_id])
        for total, column, table in _TOTALS:
            differences = _TOTAL_DIFFERENCES.format(total=total, column=column, table=table)
            cursor.execute(
                f"MERGE INTO {total} AS old USING ({differences}) AS new ON old.organization_id = %(organization)s "
                f"AND old.access_list_id = new.access_list_id AND old.{column} = new.{column} "
                "WHEN MATCHED AND new.chunks IS NULL THEN DELETE "
                "WHEN MATCHED THEN UPDATE SET chunks = new.chunks "
                f"WHEN NOT MATCHED THEN INSERT (organization_id, access_list_id, {column}, chunks) "
                f"VALUES (%(organization)s, new.access_list_id, new.{column}, new.chunks)",
                {"organization": organization_id},
            )


def _differences(table: str, column: str, rows: str) -> str:
    return _DIFFERENCES.format(table=table, column=column, rows=rows)
