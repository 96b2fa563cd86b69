"""Refuses databases that this version cannot upgrade, and waits for those that are being upgraded.

Version 0.1.0 replaced all earlier migrations with one schema and one security migration per app. A database in which an
earlier migration was applied can be neither migrated nor used.
"""

import functools
import importlib
import importlib.util
import pkgutil
import time

import structlog
from django.apps import apps
from django.core.checks import CheckMessage, Error
from django.db import DatabaseError, ProgrammingError, connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.base.validation import BaseDatabaseValidation
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from ragsite.postgres import identity, role_connections

logger = structlog.get_logger(__name__)

INSUFFICIENT_PRIVILEGE = "42501"
_POLL_SECONDS = 0.2
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
        with identity.run_as(identity.ANONYMOUS if role_connections.has_logins() else identity.OWNER):
            outdated = is_outdated(connection)
    except ProgrammingError as error:  # earlier versions granted the roles nothing
        outdated = getattr(error.__cause__, "sqlstate", "") == INSUFFICIENT_PRIVILEGE
    except DatabaseError:
        return
    finally:
        connection.close()
    if outdated:
        raise OutdatedDatabaseError


def wait_until_migrated() -> None:
    """Wait until all migrations of this version are applied. A database that does not answer is not waited for.

    So the processes of a new version may start, and import what they need, before `migrate` has finished.
    """
    is_announced = False
    while missing := _count_missing_migrations():
        if not is_announced:
            logger.warning("waiting_for_migrate", missing=missing)
            is_announced = True
        time.sleep(_POLL_SECONDS)


def _count_missing_migrations() -> int:
    try:
        with identity.run_as(identity.ANONYMOUS if role_connections.has_logins() else identity.OWNER):
            return len(_shipped_migrations() - MigrationRecorder(connection).applied_migrations().keys())
    except DatabaseError:
        return 0
    finally:
        connection.close()


@functools.cache
def _shipped_migrations() -> frozenset[tuple[str, str]]:
    """Return (app, name) of all migrations, which are not imported: that would take a second."""
    names = {app.label: MigrationLoader.migrations_module(app.label)[0] for app in apps.get_app_configs()}
    packages = {
        label: importlib.import_module(name) for label, name in names.items() if name and importlib.util.find_spec(name)
    }
    return frozenset(
        (label, module.name)
        for label, package in packages.items()
        for module in pkgutil.iter_modules(package.__path__)
        if module.name[0] not in "_~"  # as Django's loader
    )
