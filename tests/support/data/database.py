"""Empties the test database, so that it is as after `migrate`, or rolls back a block."""

import select
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from django.db import connection, transaction

from ragsite.postgres import identity

# All tables but those that migrations fill, and those of them that are truncated: the ones with an index of vectors or
# terms, which would keep dead entries that searches examine. A truncation creates and deletes files, which takes longer
# than most tests. So tables keep up to ten pages that nobody has analysed: PostgreSQL plans for an empty table as for
# one of ten pages. An index of vectors keeps no dead entries at all.
_TABLES = """
SELECT array_agg(oid::regclass::text ORDER BY oid), array_agg(oid::regclass::text) FILTER (
    WHERE relname ~ '^rag_(embedding[0-9]+|chunkterms)$' AND pg_relation_size(oid) > 0 AND (
        reltuples >= 0 OR pg_relation_size(oid) > 10 * current_setting('block_size')::integer OR EXISTS (
            SELECT FROM pg_index JOIN pg_class AS named ON named.oid = indexrelid JOIN pg_am ON pg_am.oid = named.relam
            WHERE indrelid = tables.oid AND amname = 'hnsw'
        )
    )
)
FROM pg_class AS tables
WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
AND relname NOT IN ('django_migrations', 'django_content_type', 'auth_permission')
"""
# For locks of a transaction that a test has left open.
_MAX_WAIT_SECONDS = 60


class _Cleaner:
    """A session that deletes rows without triggers and foreign key checks, and keeps the plan for it.

    Django's own flush truncates every table and runs post-migrate handlers. In a session that tests use, PostgreSQL
    would forget all plans with each change of session_replication_role.
    """

    def __init__(self) -> None:
        self._session: psycopg.Connection[tuple[Any, ...]] | None = None

    def delete_all_rows(self) -> None:
        session = self._open()
        ((tables, truncated),) = session.execute(_TABLES)
        if truncated:
            session.execute(f"TRUNCATE {', '.join(truncated)}")
        deletions = [f"part{number} AS (DELETE FROM {table})" for number, table in enumerate(tables)]
        session.execute(f"WITH {', '.join(deletions)} SELECT")

    def close(self) -> None:
        if self._session:
            self._session.close()
            self._session = None

    def _open(self) -> "psycopg.Connection[tuple[Any, ...]]":
        """Return the session of the current database, a new one if there is none or the server has ended it."""
        session = self._session
        is_open = session and not session.closed and session.info.dbname == connection.settings_dict["NAME"]
        # The server says something to an idle session only when it ends it.
        if session and is_open and not select.select([session], [], [], 0)[0]:
            return session
        self.close()
        with identity.run_as(identity.OWNER):
            parameters: dict[str, Any] = connection.get_connection_params()
        names = ("host", "port", "dbname", "user", "password", "application_name")
        self._session = psycopg.connect(
            **{name: parameters[name] for name in names if name in parameters},
            options=f"-c session_replication_role=replica -c lock_timeout={_MAX_WAIT_SECONDS}s",
            autocommit=True,
            prepare_threshold=0,
        )
        return self._session


_cleaner = _Cleaner()


def delete_all_rows() -> None:
    """Delete every row that tests have committed, as the owner of the tables."""
    _cleaner.delete_all_rows()


def close_cleaner() -> None:
    """Close the session with which rows are deleted."""
    _cleaner.close()


@contextmanager
def rolled_back() -> Iterator[None]:
    """Rolls back the rows of one Hypothesis example, whether or not it passes."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)
