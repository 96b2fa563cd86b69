"""Refuses migrations that would break running processes of another version.

A migration may replace functions or remove columns that an earlier version uses. If that version still runs after the
migration, its statements fail. Each connection states the version of its process in `application_name`, so the database
knows all of them.
"""

import functools
import hashlib
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from django.conf import settings
from django.core.management.base import CommandError
from django.db import connection
from django.db.migrations import Migration, operations

from ragsite.postgres import identity

_ROOT = Path(__file__).parents[3]
_PREFIX = "ragsite/"
_MAX_WAIT_SECONDS = 10.0
_POLL_SECONDS = 0.2
# Tools of operators state their own names. Versions without this check state none.
_OTHERS = """
SELECT count(*) FROM pg_stat_activity AS session JOIN pg_roles AS role ON role.oid = session.usesysid
WHERE session.datname = current_database() AND session.pid <> pg_backend_pid()
AND (role.rolname = session_user OR role.rolname = ANY(%s))
AND (session.application_name = '' OR starts_with(session.application_name, %s)) AND session.application_name <> %s
"""
_ROLES = [role.role for role in (identity.ANONYMOUS, identity.SIGN_IN, identity.STAFF, identity.WORKER)]
_REMOVING_SQL = re.compile(
    r"\b(DROP\s+(FUNCTION|TABLE|VIEW|COLUMN|TYPE)|CREATE\s+OR\s+REPLACE|RENAME)\b", re.IGNORECASE
)
_REMOVING_OPERATIONS = (
    operations.RemoveField,
    operations.RenameField,
    operations.DeleteModel,
    operations.RenameModel,
    operations.AlterModelTable,
)


@functools.cache
def version_name() -> str:
    """Return what connections of this version are called: versions with the same migrations may run together."""
    names = sorted(str(path.relative_to(_ROOT)) for path in _ROOT.glob("*/migrations/[0-9]*.py"))
    return _PREFIX + hashlib.sha256("\n".join(names).encode()).hexdigest()[:12]


def refuse_while_other_versions_run(plan: Sequence[tuple[Migration, bool]], **_: object) -> None:
    """Refuse a migration that removes something while processes of another version are connected.

    Processes that are stopping have _MAX_WAIT_SECONDS to end. It receives `pre_migrate`, so nothing has changed yet.

    Raises:
        CommandError: If processes of another version are connected, and a migration removes what they may use.
    """
    removing = [migration for migration, _ in plan if removes_something(migration)]
    if not removing or settings.RAG_MIGRATE_WHILE_OTHERS_RUN:
        return
    deadline = time.monotonic() + _MAX_WAIT_SECONDS
    while count := _count_other_sessions():
        if time.monotonic() > deadline:
            raise CommandError(
                f"Processes of another version are connected to the database ({count} sessions), and the migration "
                f"{removing[0]} removes what they may use. Stop the web servers, workers, scheduler and background "
                "worker of the earlier version, then restart PgBouncer if you use it, because it keeps sessions of "
                "processes that have ended, and run this again."
            )
        time.sleep(_POLL_SECONDS)


def removes_something(migration: Migration) -> bool:
    """Return whether an earlier version may fail after the migration."""
    return any(
        isinstance(operation, _REMOVING_OPERATIONS) or any(map(_REMOVING_SQL.search, _statements(operation)))
        for operation in _flattened(migration.operations)
    )


def _flattened(migration_operations: Iterable[object]) -> Iterator[object]:
    for operation in migration_operations:
        if isinstance(operation, operations.SeparateDatabaseAndState):
            yield from _flattened(operation.database_operations)
        else:
            yield operation


def _statements(operation: object) -> list[str]:
    sql = operation.sql if isinstance(operation, operations.RunSQL) else ""
    parts = [sql] if isinstance(sql, str) else sql
    return [part if isinstance(part, str) else part[0] for part in parts]


def _count_other_sessions() -> int:
    with connection.cursor() as cursor:
        cursor.execute(_OTHERS, [_ROLES, _PREFIX, version_name()])
        return int(cursor.fetchone()[0])
