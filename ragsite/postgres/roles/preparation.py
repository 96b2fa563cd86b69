"""Prepares the database roles: what they log in with, and what they may read and change.

`manage.py migrate` prepares them (docs/operations/install.md, where PostgreSQL is set up).
"""

from pathlib import Path

from django.db import connection, transaction

from ragsite.postgres import identity
from ragsite.postgres.derived_keys import identity_key_pads, role_password

_GRANTS = tuple(Path(__file__).parents[1] / name for name in ("grants.sql", "function_grants.sql"))
# The roles that a web process logs in as.
LOGINS = (identity.READER_ROLE, identity.SIGN_IN.role, identity.STAFF.role)
_MAY_CHANGE_ROLE = (
    "SELECT rolsuper OR (rolcreaterole AND pg_has_role(%s, 'USAGE WITH ADMIN OPTION')) "
    "FROM pg_roles WHERE rolname = current_user"
)
_SET_PASSWORD = """
DO $$ BEGIN
    FOR attempt IN 1..20 LOOP
        BEGIN
            ALTER ROLE {role} LOGIN PASSWORD '{password}';
            ALTER ROLE {role} RESET ALL;
            RETURN;
        EXCEPTION WHEN internal_error THEN PERFORM pg_sleep(0.05);
        END;
    END LOOP;
    RAISE 'The role {role} is being changed by others.';
END $$
"""
_STORE_IDENTITY_KEY = (
    "INSERT INTO ragsite_private.identity_key (inner_pad, outer_pad) VALUES (%s, %s) "
    "ON CONFLICT (is_only_row) DO UPDATE SET inner_pad = excluded.inner_pad, outer_pad = excluded.outer_pad"
)


def prepare_roles(**_: object) -> None:
    """Apply grants.sql and function_grants.sql, and store the identity key and the passwords of the roles.

    The key and the passwords are derived from SECRET_KEY. A role may change its own password and defaults, so injected
    SQL can lock it out; this repairs both.

    The passwords are left alone if the connection may not change the roles: then an administrator has created them
    (`manage.py database_roles`).
    """
    with identity.run_as(identity.OWNER), connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass('ragsite_private.identity_key') IS NOT NULL")
        if not cursor.fetchone()[0]:  # the first migrations only
            return
        with transaction.atomic():  # SET LOCAL ROLE ends with it
            for grants in _GRANTS:
                cursor.execute(grants.read_text())
        cursor.execute(_STORE_IDENTITY_KEY, identity_key_pads())
        for role in LOGINS:
            cursor.execute(_MAY_CHANGE_ROLE, [role])
            if cursor.fetchone()[0]:
                # Roles belong to the whole server: another database's migration may be changing this one.
                cursor.execute(_SET_PASSWORD.format(role=role, password=role_password(role)))


def creation_sql() -> str:
    """Return the SQL with which an administrator of the database server creates the roles."""
    worker = identity.WORKER.role
    statements = [f"CREATE ROLE {role} LOGIN PASSWORD '{role_password(role)}';" for role in LOGINS]
    names = ", ".join((*LOGINS, worker))
    owner = connection.settings_dict["USER"] or "the user of DATABASE_URL"
    return "\n".join([*statements, f"CREATE ROLE {worker} NOLOGIN;", f"GRANT {names} TO {owner} WITH INHERIT FALSE;"])


def userlist() -> str:
    """Return the roles of web processes and their passwords as a file `userlist.txt` of PgBouncer."""
    return "\n".join(f'"{role}" "{role_password(role)}"' for role in LOGINS)
