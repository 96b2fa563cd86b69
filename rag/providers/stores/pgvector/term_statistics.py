"""The statistics of words, beside what the chunks' rows say: the one is the sum of the other, always (terms.py)."""

import uuid

from django.db import connection

# (table, its column, the rows that it counts)
_COUNTED = (
    ("rag_sourceterm", "term", "rag_chunkterms, unnest(terms) AS term"),
    ("rag_sourceconfig", "config", "rag_chunkterms"),
)
_COMPARED = (
    "SELECT {column}, said.chunks FROM "
    "(SELECT {column}, count(*) AS chunks FROM {rows} WHERE source_id = %(source)s GROUP BY {column}) AS said "
    # A configuration that no chunk has any more stays with a count of none.
    "FULL JOIN (SELECT {column}, chunks FROM {table} WHERE source_id = %(source)s AND chunks <> 0) AS kept "
    "USING ({column}) WHERE said.chunks IS DISTINCT FROM kept.chunks"
)


def differing(source_id: uuid.UUID) -> int:
    """How many counts of the source are wrong. Right while others write: rows and counts are read in one statement,
    and are written in one transaction."""
    each = " UNION ALL ".join(f"SELECT count(*) FROM ({_compared(*names)}) AS wrong" for names in _COUNTED)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT sum(count) FROM ({each}) AS all_of_them", {"source": source_id})
        return int(cursor.fetchone()[0])


def set_right(source_id: uuid.UUID) -> None:
    """The counts are the sums. For whoever has the source's turn (terms.py), in the caller's transaction."""
    with connection.cursor() as cursor:
        for table, column, rows in _COUNTED:
            cursor.execute(
                f"MERGE INTO {table} AS old USING ({_compared(table, column, rows)}) AS found "
                f"ON old.source_id = %(source)s AND old.{column} = found.{column} "
                "WHEN MATCHED AND found.chunks IS NULL THEN DELETE "
                "WHEN MATCHED THEN UPDATE SET chunks = found.chunks "
                f"WHEN NOT MATCHED THEN INSERT (source_id, {column}, chunks) "
                f"VALUES (%(source)s, found.{column}, found.chunks)",
                {"source": source_id},
            )


def _compared(table: str, column: str, rows: str) -> str:
    return _COMPARED.format(table=table, column=column, rows=rows)
