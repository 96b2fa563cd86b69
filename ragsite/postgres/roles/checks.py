"""Checks that the database roles of a web process are not stronger than they should be."""

import re
import uuid
from pathlib import Path

from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage
from django.db import DatabaseError, connection

from ragsite.postgres import identity, role_connections
from ragsite.postgres.identity import Identity
from ragsite.postgres.versions.compatibility import INSUFFICIENT_PRIVILEGE

from .preparation import LOGINS

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


def require_safe_roles() -> None:
    """Check the roles when a web process starts. A database that does not answer is not checked.

    Raises:
        RoleError: A role cannot log in or could leave row-level security, the database has the identity key of another
            SECRET_KEY, or the pooler does not reset sessions.
    """
    if connection.settings_dict["ENGINE"] != "ragsite.postgres":  # a benchmark without row-level security
        return
    for role in LOGINS:
        with identity.run_as(Identity(role)):
            try:
                with connection.cursor() as cursor:
                    cursor.execute(_STRENGTHS)
                    strengths = [row[0] for row in cursor.fetchall()]
            except DatabaseError as error:
                if role in str(error):  # the server answers, and refuses the role by its name
                    reason = " ".join(str(error).split())
                    raise RoleError(
                        f"PostgreSQL refuses the role {role} ({reason}). Run `manage.py migrate` with the "
                        "SECRET_KEY of this process, and allow the role in pg_hba.conf."
                    ) from None
                continue
            finally:
                connection.close()
        if strengths:
            raise RoleError(f"The database role {role} {strengths[0]}. Create it again (`manage.py database_roles`).")
    with identity.run_as(identity.of_user(uuid.uuid4())):
        try:
            with connection.cursor() as cursor:
                cursor.execute("SELECT user_id FROM ragsite_identity()")
        except DatabaseError as error:
            if getattr(error.__cause__, "sqlstate", "") == INSUFFICIENT_PRIVILEGE:
                raise RoleError("SECRET_KEY is not the one that `manage.py migrate` ran with. Run it again.") from None
        finally:
            connection.close()
    if role_connections.pooler():
        _require_reset()
        for address in settings.RAG_DATABASE_REPLICAS:
            with (
                identity.run_as(identity.ANONYMOUS),
                role_connections.use_for_callers(role_connections.replica_connection(address)),
            ):
                _require_reset()


def check_public_functions(**_: object) -> list[CheckMessage]:
    """Warn in `check --deploy` if a role of the web server may call a function of `public_functions.sql`.

    A database that does not answer is not checked. `migrate` cannot take the functions away: only their owner can, who
    is a superuser.
    """
    if connection.settings_dict["ENGINE"] != "ragsite.postgres":
        return []
    functions = _FUNCTION.findall(PUBLIC_FUNCTIONS.read_text().partition("REVOKE")[2])
    try:
        with identity.run_as(identity.OWNER), connection.cursor() as cursor:
            cursor.execute(_CALLABLE, [functions, list(LOGINS)])
            callable_functions = [function for (function,) in cursor.fetchall()]
    except DatabaseError:
        return []
    if not callable_functions:
        return []
    return [
        checks.Warning(
            f"The database roles of the web server may call {', '.join(callable_functions)}: SQL that somebody injects "
            "can end other requests, or fill the disk with large objects.",
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
    with identity.run_as(identity.ANONYMOUS):
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
