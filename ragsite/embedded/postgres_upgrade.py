"""Clusters of versions whose product's login was the server's superuser."""

from psycopg import Connection, sql

_TEMPORARY = "ragsite_upgrade"
# Everything of the product that the superuser owns goes to the new login. What belongs to extensions stays.
_CHANGE_OWNERS = """
DO $$
DECLARE
    statement text;
BEGIN
    FOR statement IN
        SELECT format('ALTER SCHEMA %I OWNER TO {user}', nspname) FROM pg_namespace
            WHERE nspowner = '{administrator}'::regrole AND nspname !~ '^(pg_|information_schema)'
        UNION ALL
        SELECT format('ALTER %s %s OWNER TO {user}', CASE relkind WHEN 'v' THEN 'VIEW' WHEN 'S' THEN 'SEQUENCE'
            ELSE 'TABLE' END, oid::regclass) FROM pg_class
            WHERE relowner = '{administrator}'::regrole AND relkind IN ('r', 'p', 'v', 'S')
            AND relnamespace IN (SELECT oid FROM pg_namespace WHERE nspname IN ('public', 'ragsite_private'))
            -- A sequence of a column follows its table.
            AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = pg_class.oid AND deptype IN ('a', 'i', 'e'))
        UNION ALL
        SELECT format('ALTER ROUTINE %s OWNER TO {user}', oid::regprocedure) FROM pg_proc
            WHERE proowner = '{administrator}'::regrole AND pronamespace = 'public'::regnamespace
            AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = pg_proc.oid AND deptype = 'e')
        UNION ALL
        SELECT format('ALTER TYPE %s OWNER TO {user}', pg_type.oid::regtype) FROM pg_type
            JOIN pg_class ON pg_class.oid = typrelid AND relkind = 'c'
            WHERE typowner = '{administrator}'::regrole AND typnamespace = 'public'::regnamespace
        UNION ALL
        -- `migrate` changes the grants of the workers' functions, as far as it may: without any right it would fail.
        SELECT format('GRANT EXECUTE ON ROUTINE %s TO {user}', pg_proc.oid::regprocedure) FROM pg_proc
            JOIN pg_roles ON pg_roles.oid = proowner AND rolname = 'ragsite_worker'
        UNION ALL
        SELECT format('GRANT %I TO {user} WITH ADMIN TRUE, INHERIT FALSE, SET TRUE', rolname) FROM pg_roles
            WHERE rolname IN ('ragsite_reader', 'ragsite_sign_in', 'ragsite_staff', 'ragsite_worker')
    LOOP
        EXECUTE statement;
    END LOOP;
END $$
"""


def create_temporary_superuser(connection: "Connection[object]") -> str:
    """Create a role that may rename the superuser, which cannot rename itself, and return its name."""
    if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [_TEMPORARY]).fetchone():
        connection.execute(sql.SQL("CREATE ROLE {} LOGIN SUPERUSER").format(sql.Identifier(_TEMPORARY)))
    return _TEMPORARY


def separate_administrator(connection: "Connection[object]", *, user: str, administrator: str, database: str) -> None:
    """Give the superuser another name, and the product a login that is not one. All of it, or nothing.

    Args:
        connection: A connection of the temporary superuser to the product's database.
        user: The name that the superuser has now, and the login will have.
        administrator: The new name of the superuser.
        database: The product's database.
    """
    with connection.transaction():
        connection.execute(f"ALTER ROLE {user} RENAME TO {administrator}")
        connection.execute(f"CREATE ROLE {user} LOGIN CREATEROLE")
        connection.execute(f"ALTER DATABASE {database} OWNER TO {user}")
        connection.execute(_CHANGE_OWNERS.format(user=user, administrator=administrator))


def drop_temporary_superuser(connection: "Connection[object]") -> None:
    connection.execute(sql.SQL("DROP ROLE IF EXISTS {}").format(sql.Identifier(_TEMPORARY)))
