"""Gives each test process its database: a copy of one that has been migrated, the template.

Migrations take each process two seconds of computing, and a copy a fraction of one. The template is kept until a
migration changes, and copied for each run, so that a run that was killed leaves nothing for the next one.
"""

import contextlib
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.apps import apps
from django.conf import settings
from django.core.management import call_command
from django.db import connection

from ragsite.postgres.roles.preparation import prepare_roles

TEMPLATE = "ragsite_test_template"
_LOCK = 0x7E57  # of the database server: one process migrates, the others wait for it
# Leaves the database as it is: `make restore` tests the one that it has restored.
_KEEP = "TEST_DATABASE_KEPT"


def prepare_database(*, run: str) -> None:
    """Create the database of this process, and use it.

    Args:
        run: Names the run of tests in which the template is created anew; empty to use one of an earlier run.
    """
    # The name that pytest-django gives it contains the number of the process.
    name = settings.DATABASES["default"]["TEST"]["NAME"] or f"test_{settings.DATABASES['default']['NAME']}"
    if os.environ.get(_KEEP):
        _use(name)
        call_command("migrate", verbosity=0)
        return
    version = _version()
    with _server() as cursor:
        described = _description(cursor)
        if not described.startswith(version) or not described.endswith(run):
            _migrate_template(cursor, f"{version} {run}")
        _create(cursor, name, f"TEMPLATE {TEMPLATE}")
    _use(name)
    prepare_roles()  # the template's keys may be those of an earlier run's SECRET_KEY


def _version() -> str:
    """What a migrated database depends on: migrations, the SQL of roles and grants, and installed packages."""
    root = settings.BASE_DIR
    folders = [Path(app.path) / "migrations" for app in apps.get_app_configs() if Path(app.path).parent == root]
    files = [file for folder in (*folders, root / "ragsite" / "postgres") for file in folder.rglob("*")]
    digest = hashlib.sha256()
    for file in (root / "constraints.txt", *sorted(files)):
        if file.suffix in (".py", ".sql", ".txt"):
            digest.update(f"{file.relative_to(root)}\n".encode() + file.read_bytes())
    return digest.hexdigest()


@contextlib.contextmanager
def _server() -> Iterator[Any]:
    """A session of the database server in which only one process at a time creates databases."""
    creator: Any = connection
    with creator._nodb_cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [_LOCK])
        yield cursor


def _description(cursor: Any) -> str:
    cursor.execute("SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = %s", [TEMPLATE])
    row = cursor.fetchone()
    return (row and row[0]) or ""


def _migrate_template(cursor: Any, description: str) -> None:
    _create(cursor, TEMPLATE)
    _use(TEMPLATE)
    call_command("migrate", verbosity=0)
    connection.close()  # a database that somebody uses cannot be copied
    cursor.execute(f"COMMENT ON DATABASE {TEMPLATE} IS '{description}'")


def _create(cursor: Any, name: str, options: str = "") -> None:
    cursor.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
    cursor.execute(f'CREATE DATABASE "{name}" {options}')


def _use(name: str) -> None:
    connection.close()
    settings.DATABASES["default"]["NAME"] = connection.settings_dict["NAME"] = name
