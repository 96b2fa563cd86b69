"""manage.py backup: store the database and the original files in one archive."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError

from rag.errors import StorageFailed
from rag.management.transfer_progress import TransferProgress
from rag.services.maintenance.backup import create


class Command(BaseCommand):
    help = (
        "Store all rows of the database and all original files in one archive, while the product is used. Secrets are "
        "not part of it: keep SECRET_KEY and the other variables that the command names."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("archive", type=Path, help="the new file, such as ragsite-2026-01-31.tar")

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["archive"]
        try:
            with TransferProgress() as progress:
                backup = create.create(path, progress.advance)
        except FileExistsError as error:
            raise CommandError(f"{error.filename or error} exists. Name another file, or delete it.") from None
        except OSError as error:
            raise CommandError(f"The archive cannot be written: {error}") from None
        except StorageFailed as error:
            raise CommandError(f"No backup was made. {error.message}") from None
        except DatabaseError as error:
            reason = str(error).partition("\n")[0]
            raise CommandError(f"No backup was made, because the database failed: {reason}") from error
        self.stdout.write(
            f"{path}: {backup.rows:,} rows, {backup.files:,} original files, {path.stat().st_size:,} bytes."
        )
        self.stdout.write(f"Not part of the backup, keep these variables apart: {', '.join(create.SECRETS)}.")
        if backup.lost_files:
            raise CommandError(
                f"The backup is complete except for {backup.lost_files:,} original files, which the storage has "
                f"lost or changed. Send their documents again. The first ids: {', '.join(backup.lost_ids)}"
            )
