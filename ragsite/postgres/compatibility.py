"""Refuses databases that this version cannot upgrade.

Version 0.1.0 replaced all earlier migrations with one schema and one security migration per app. A database in which an
earlier migration was applied can be neither migrated nor used.
"""

from django.core.checks import CheckMessage, Error
from django.db import DatabaseError, ProgrammingError, connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.base.validation import BaseDatabaseValidation
from django.db.migrations.recorder import MigrationRecorder

from . import identity, logins

INSUFFICIENT_PRIVILEGE = "42501"
_EARLIER_MIGRATIONS = {("accounts", "0001_initial"), ("orgs", "0001_initial"), ("rag", "0001_initial")}
_MESSAGE = (
    "This database was created by a version before 0.1.0 and cannot be upgraded: delete it with `make clean-data`, "
    "or choose another one with RAGSITE_DATA or DATABASE_URL."
)


class OutdatedDatabaseError(Exception):
    """The database was created by a version before 0.1.0. The message says what to do."""

    def __init__(self) -> None:
        super().__init__(_MESSAGE)


class DatabaseValidation(BaseDatabaseValidation):
    """The system check that `manage.py migrate` runs before it changes anything."""

    def check(self, **_: object) -> list[CheckMessage]:
        return [Error(_MESSAGE, id="ragsite.E003")] if is_outdated(self.connection) else []


def is_outdated(database: BaseDatabaseWrapper) -> bool:
    """Return whether a migration from before 0.1.0 was applied, or one of its first commits created the database.

    In those commits the second migration did not have the security of organisations, which later ones build on.
    """
    applied = set(MigrationRecorder(database).applied_migrations())
    is_unfinished = ("rag", "0002_security") in applied and ("orgs", "0002_security") not in applied
    return is_unfinished or not _EARLIER_MIGRATIONS.isdisjoint(applied)


def require_current_database() -> None:
    """Check the database when a web or worker process starts. A database that does not answer is not checked.

    Raises:
        OutdatedDatabaseError: a migration from before 0.1.0 was applied.
    """
    try:
        with identity.run_as(identity.NOBODY if logins.has_logins() else identity.OWNER):
            outdated = is_outdated(connection)
    except ProgrammingError as error:  # earlier versions granted the roles nothing
        outdated = getattr(error.__cause__, "sqlstate", "") == INSUFFICIENT_PRIVILEGE
    except DatabaseError:
        return
    finally:
        connection.close()
    if outdated:
        raise OutdatedDatabaseError
