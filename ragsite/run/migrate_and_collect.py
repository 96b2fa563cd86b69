"""Migrates the database and collects the static files, in one process: each start of Django takes seconds.

python -m ragsite.run.migrate_and_collect [--pause | --then COMMAND …]

With --pause it does everything that the running processes of an earlier version permit, and waits for a line on its
standard input. So these have to be stopped for the migrations alone. With --then it also runs a command of manage.py.
The settings are then checked only after it has printed MIGRATED (ragsite.run.commands), while processes start.
"""

import gc
import sys
from collections.abc import Sequence

import django
from django.core.management import execute_from_command_line
from django.core.management.base import BaseCommand, SystemCheckError
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from ragsite.postgres import identity

from . import static_files
from .commands import MIGRATED

_MIGRATE = ("migrate", "--verbosity=0", "--skip-checks")
_COLLECT = ("collectstatic", "--noinput", "--verbosity=0")


def main(arguments: Sequence[str] = ()) -> None:
    """Run the commands in order. The first that fails prints the reason and ends the process."""
    identity.run_process_as(identity.OWNER)  # migrations need it
    django.setup()
    if "--pause" in arguments:
        _collect()
        _make_system_checks()
        _migrate_after_pause()
    elif "--then" in arguments:
        _collect()
        _make_system_checks(["database"])
        _run(_MIGRATE)
        print(MIGRATED, flush=True)
        _make_system_checks()  # imports all pages, which takes longer than everything else
        connection.close()  # the owner's
        identity.run_process_as(identity.WORKER)
        _run(arguments[1:])
    else:
        _make_system_checks()
        _collect()
        _run(_MIGRATE)
        print(MIGRATED, flush=True)


def _migrate_after_pause() -> None:
    MigrationLoader(connection)  # imports the migrations
    connection.close()
    gc.disable()  # a third of the time of migrations, for up to 200 MB
    input("Stop the processes of the earlier version, then press Enter.\n")
    _run(_MIGRATE)


def _make_system_checks(tags: Sequence[str] | None = None) -> None:
    """Make Django's system checks, only those with one of the tags if there are any, and exit if one of them fails."""
    try:
        BaseCommand(no_color=True).check(tags=tags, databases=["default"])
    except SystemCheckError as error:
        sys.exit(str(error))


def _collect() -> None:
    if not static_files.are_collected():
        _run(_COLLECT)
        static_files.remember()


def _run(command: Sequence[str]) -> None:
    execute_from_command_line(["manage.py", *command])


if __name__ == "__main__":
    main(sys.argv[1:])
