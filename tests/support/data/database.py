"""Empties the test database, so that it is as after `migrate`, or rolls back a block."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction

from ragsite.postgres import identity

# Deletes only from tables that have rows, without triggers and foreign key checks, and keeps what migrations insert.
# Django's own flush truncates every table and runs post-migrate handlers, which takes longer than most tests.
# Tables with a vector or term index are truncated, so that the index keeps no dead entries.
_DELETE_ALL_ROWS = """
DO $$
DECLARE
    table_name regclass;
    has_rows boolean;
BEGIN
    SET LOCAL session_replication_role = replica;
    FOR table_name IN
        SELECT oid FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
        AND pg_relation_size(oid) > 0  -- never written otherwise: no query is planned for it
        AND relname NOT IN ('django_migrations', 'django_content_type', 'auth_permission')
    LOOP
        EXECUTE format('SELECT EXISTS (SELECT FROM %s)', table_name) INTO has_rows;
        IF has_rows AND table_name::text ~ '^rag_(embedding[0-9]+|chunkterms)$' THEN
            EXECUTE format('TRUNCATE %s', table_name);
        ELSIF has_rows THEN
            EXECUTE format('DELETE FROM %s', table_name);
        END IF;
    END LOOP;
END $$
"""


def delete_all_rows() -> None:
    """Delete every row that tests made, as the owner of the tables."""
    with identity.run_as(identity.OWNER), connection.cursor() as cursor:
        cursor.execute(_DELETE_ALL_ROWS)


@contextmanager
def rolled_back() -> Iterator[None]:
    """Rolls back the rows of one Hypothesis example, whether or not it passes."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)
