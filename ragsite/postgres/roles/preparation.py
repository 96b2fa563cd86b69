"""The database roles: what they log in with, what they may read and change, and a check that they are not stronger.

`manage.py migrate` prepares them (docs/operations/install.md, "How do I set up PostgreSQL?").
"""

import re
import uuid
from pathlib import Path

from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage
from django.db import DatabaseError, connection, transaction

from ragsite.postgres import identity, logins
from ragsite.postgres.compatibility import INSUFFICIENT_PRIVILEGE
from ragsite.postgres.derived_keys import identity_key_pads, role_password
from ragsite.postgres.identity import Identity

_GRANTS = tuple(Path(__file__).parents[1] / name for name in ("grants.sql", "function_grants.sql"))
# The roles that a web process logs in as.
LOGINS = (identity.NOBODY.role, identity.SIGN_IN.role, identity.STAFF.role)
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
# What would let injected SQL leave the role, or read around its row-level security.
_STRENGTHS = """
SELECT 'is a superuser' FROM pg_roles WHERE rolname = session_user AND rolsuper
UNION ALL SELECT 'bypasses row-level security' FROM pg_roles WHERE rolname = session_user AND rolbypassrls
UNION ALL SELECT 'may create roles' FROM pg_roles WHERE rolname = session_user AND rolcreaterole
UNION ALL SELECT 'is a member of ' || rolname FROM pg_roles
    WHERE rolname <> session_user AND pg_has_role(session_user, oid, 'MEMBER')
UNION ALL SELECT 'owns ' || relname FROM pg_class
    WHERE relowner = (SELECT oid FROM pg_roles WHERE rolname = session_user) AND relpersistence <> 't'
"""
# What every role may call, unless a superuser has taken it from them.
PUBLIC_FUNCTIONS = Path(__file__).parents[1] / "public_functions.sql"
_FUNCTION = re.compile(r"\w+\([\w, ]+\)")
_CALLABLE = """
SELECT DISTINCT function FROM unnest(%s::text[]) AS function, pg_roles
WHERE rolname = ANY(%s) AND has_function_privilege(rolname, to_regprocedure(function), 'EXECUTE') ORDER BY function
"""


class RoleError(Exception):
    """The web process must not run with these database roles. The message says what to do."""


def prepare_roles(**_: object) -> None:
    """Apply grants.sql and function_grants.sql, and store what is derived from SECRET_KEY.

    That is the identity key, and the passwords of the roles.
    A role may change its own password and defaults, so injected SQL can lock it out. This repairs both.

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


def require_safe_roles() -> None:
    """Check the roles when a web process starts. A database that does not answer is not checked.

    Raises:
        RoleError: A role could leave row-level security, the database has the identity key of another SECRET_KEY, or
            the pooler does not reset sessions.
    """
    if connection.settings_dict["ENGINE"] != "ragsite.postgres":  # a benchmark without row-level security
        return
    for role in LOGINS:
        with identity.run_as(Identity(role)):
            try:
                with connection.cursor() as cursor:
                    cursor.execute(_STRENGTHS)
                    strengths = [row[0] for row in cursor.fetchall()]
            except DatabaseError:
                continue
            finally:
                connection.close()
        if strengths:
            raise RoleError(f"The database role {role} {strengths[0]}. Create it anew: see `manage.py database_roles`.")
    with identity.run_as(identity.of_user(uuid.uuid4())):
        try:
            with connection.cursor() as cursor:
                cursor.execute("SELECT user_id FROM ragsite_identity()")
        except DatabaseError as error:
            if getattr(error.__cause__, "sqlstate", "") == INSUFFICIENT_PRIVILEGE:
                raise RoleError("SECRET_KEY is not the one that `manage.py migrate` ran with. Run it again.") from None
        finally:
            connection.close()
    if logins.has_pooler():
        _require_reset()
        for address in settings.RAG_DATABASE_REPLICAS:
            with identity.run_as(identity.NOBODY), logins.use_for_callers(logins.replica_connection(address)):
                _require_reset()


def check_public_functions(**_: object) -> list[CheckMessage]:
    """Warn in `check --deploy` if a role of the web server may call one. A database that does not answer is not asked.

    `migrate` cannot take them away: only their owner can, who is a superuser.
    """
    if connection.settings_dict["ENGINE"] != "ragsite.postgres":
        return []
    functions = _FUNCTION.findall(PUBLIC_FUNCTIONS.read_text().partition("REVOKE")[2])
    try:
        with identity.run_as(identity.OWNER), connection.cursor() as cursor:
            cursor.execute(_CALLABLE, [functions, list(LOGINS)])
            callable_ones = [function for (function,) in cursor.fetchall()]
    except DatabaseError:
        return []
    if not callable_ones:
        return []
    return [
        checks.Warning(
            f"The database roles of the web server may call {', '.join(callable_ones)}: SQL that somebody injects can "
            "end other requests, or fill the disk with large objects.",
            hint="Run as a superuser of the database server, in the database of ragsite: psql --file "
            "ragsite/postgres/public_functions.sql",
            id="ragsite.W006",
        )
    ]


def _require_reset() -> None:
    """Check that a setting of one transaction is not left for the next one, which may be another caller's.

    Raises:
        RoleError: It is left.
    """
    with identity.run_as(identity.NOBODY):
        try:
            with connection.cursor() as cursor:
                cursor.execute("SELECT set_config('rag.left_over', '1', false)")
                # An idle pooler gives the next transaction the session that was used last.
                cursor.execute("SELECT current_setting('rag.left_over', true)")
                is_left_over = cursor.fetchone()[0]
        except DatabaseError:
            return
        finally:
            connection.close()
    if is_left_over:
        raise RoleError("The pooler must reset each session after a transaction: set server_reset_query_always = 1.")
