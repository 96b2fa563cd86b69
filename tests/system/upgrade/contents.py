"""Reads everything that is stored of documents, in the columns that a version has."""

import os
from typing import Any

import psycopg
from psycopg import sql

# Of each table: the columns that say which document a row belongs to, and what writes change without changing content.
_TABLES = {
    "rag_document": "id",
    "rag_chunk": "document_id",
    "rag_embedding384": "document_id",
    "rag_chunkterms": "document_id",
}
_COLUMNS = "SELECT column_name FROM information_schema.columns WHERE table_schema = 'public' AND table_name = %s"
_DIGESTS = """
SELECT document.path, md5(string_agg(row.digest, '' ORDER BY row.digest)), count(*)
FROM rag_document AS document
JOIN (SELECT {document} AS document_id, md5(jsonb_build_array({columns})::text) AS digest FROM {table}) AS row
  ON row.document_id = document.id
WHERE document.path LIKE %s AND document.deleted_at IS NULL
GROUP BY document.path
"""
Columns = dict[str, list[str]]
Contents = dict[tuple[str, str], tuple[str, int]]  # table and path → a digest of the rows, and their number


def columns() -> Columns:
    """Return the columns of each table in the current schema."""
    with _connect() as database:
        return {table: sorted(name for (name,) in database.execute(_COLUMNS, [table])) for table in _TABLES}


def read(columns: Columns, *, prefix: str) -> Contents:
    """Return the rows of documents whose path begins with the prefix, in these columns, identifiers included."""
    contents: Contents = {}
    with _connect() as database:
        for table, document in _TABLES.items():
            statement = sql.SQL(_DIGESTS).format(
                document=sql.Identifier(document),
                columns=sql.SQL(", ").join(map(sql.Identifier, columns[table])),
                table=sql.Identifier(table),
            )
            for path, digest, count in database.execute(statement, [f"{prefix}%"]):
                contents[table, path] = (digest, count)
    return contents


def differences(before: Contents, after: Contents) -> list[str]:
    """Return what differs, as sentences."""
    return [
        f"{table} of {path}: {before.get((table, path), ('', 0))[1]} rows, then {after.get((table, path), ('', 0))[1]}"
        for table, path in sorted(before.keys() | after.keys())
        if before.get((table, path)) != after.get((table, path))
    ]


def _connect() -> "psycopg.Connection[Any]":
    return psycopg.connect(os.environ["UPGRADE_ADMINISTRATOR_URL"], autocommit=True)
