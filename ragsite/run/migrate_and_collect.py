"""Migrates the database and collects the static files, in one process: each start of Django takes seconds.

python -m ragsite.run.migrate_and_collect [--pause]

With --pause it does everything that the running processes of an earlier version permit, and waits for a line on its
standard input. So these have to be stopped for the migrations alone.
"""

import gc
import sys
from collections.abc import Sequence

from django.core.management import execute_from_command_line
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from ragsite.postgres import identity

from . import static_files

_MIGRATE = ("migrate", "--verbosity=0")
_COLLECT = ("collectstatic", "--noinput", "--verbosity=0")
_CHECK = ("check", "--database=default")


def main(arguments: Sequence[str] = ()) -> None:
    """Run the commands in order. The first that fails prints the reason and ends the process."""
    identity.run_process_as(identity.OWNER)  # migrations need it
    if "--pause" not in arguments:
        _run(_MIGRATE)
        _collect()
        return
    _collect()
    _run(_CHECK)
    MigrationLoader(connection)  # imports the migrations
    connection.close()
    gc.disable()  # a third of the time of migrations, for up to 200 MB
    input("Stop the processes of the earlier version, then press Enter.\n")
    _run((*_MIGRATE, "--skip-checks"))


def _collect() -> None:
    if not static_files.are_collected():
        _run(_COLLECT)
        static_files.remember()


def _run(*commands: Sequence[str]) -> None:
    for command in commands:
        execute_from_command_line(["manage.py", *command])


if __name__ == "__main__":
    main(sys.argv[1:])
