"""manage.py restore: write a backup into an empty database and an empty file storage."""

from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError

from rag.errors import StorageFailed
from rag.management.transfer_progress import TransferProgress
from rag.services.maintenance.backup.archive import InvalidArchive
from rag.services.maintenance.backup.restore import RestoreRefused, restore
from ragsite.postgres import identity
from ragsite.postgres.derived_keys import secret_key_fingerprint

_INCOMPLETE = "The restore is incomplete: empty the database and the file storage, then restore again."


class Command(BaseCommand):
    help = (
        "Check a backup, write its rows into a new, empty database and its files into an empty storage, and update "
        "the tables to this version. Run it before `migrate`, while no other process uses the database."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("archive", type=Path)

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            with TransferProgress() as progress:
                manifest = restore(options["archive"], progress.advance)
            with identity.run_as(identity.OWNER):
                call_command("migrate", interactive=False, verbosity=0)
        except (RestoreRefused, InvalidArchive) as error:
            raise CommandError(str(error)) from None
        except StorageFailed as error:
            raise CommandError(f"{error.message} {_INCOMPLETE}") from None
        except DatabaseError as error:
            reason = str(error).partition("\n")[0]
            raise CommandError(f"The database failed: {reason}. {_INCOMPLETE}") from error
        except OSError as error:
            raise CommandError(f"The archive cannot be read: {error}") from None
        self.stdout.write(f"Restored the backup of {manifest['created_at']}, made by version {manifest['version']}.")
        if manifest["originals"]["lost"]:
            self.stdout.write(f"{manifest['originals']['lost']:,} original files were lost before the backup.")
        if manifest.get("secret_key_fingerprint") != secret_key_fingerprint():
            self.stdout.write(
                "SECRET_KEY is not the one of the backup: everybody must sign in again, the secrets of webhooks must "
                "be rotated, and those of single sign-on and pull sync entered again."
            )
