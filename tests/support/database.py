"""A database without rows, as after `migrate`."""

from django.db import connection

from ragsite.postgres import identity

# Only what has rows, without the checks and triggers of a deletion, and not what migrations leave behind: Django's own
# flush truncates and fills again everything that there is, which takes longer than most tests. An index of vectors is
# emptied with its table, so that it holds no dead ones.
_EMPTY = """
DO $$
DECLARE
    each regclass;
    has_rows boolean;
BEGIN
    SET LOCAL session_replication_role = replica;
    FOR each IN
        SELECT oid FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
        AND relname NOT IN ('django_migrations', 'django_content_type', 'auth_permission')
    LOOP
        EXECUTE format('SELECT EXISTS (SELECT FROM %s)', each) INTO has_rows;
        IF has_rows AND each::text ~ '^rag_(embedding[0-9]+|chunkterms)$' THEN
            EXECUTE format('TRUNCATE %s', each);
        ELSIF has_rows THEN
            EXECUTE format('DELETE FROM %s', each);
        END IF;
    END LOOP;
END $$
"""


def empty() -> None:
    with identity.run_as(identity.OWNER), connection.cursor() as cursor:
        cursor.execute(_EMPTY)
