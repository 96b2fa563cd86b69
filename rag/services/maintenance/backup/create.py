"""Makes a backup while the product is used: the database as it was at one moment, then the files that it names."""

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from django.conf import settings
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone

import ragsite
from rag.errors import StorageFailed
from rag.models import Original
from rag.models.content.originals import storage_path
from rag.providers import file_storage
from rag.services.sources import original_files
from ragsite.postgres.derived_keys import secret_key_fingerprint
from ragsite.postgres.locks import session_lock
from ragsite.postgres.statements import copy_tables

from .archive import FORMAT, ArchiveWriter, OriginalsDigest
from .manifest import Manifest, OriginalFiles, TableEntry, TablesManifest

# The variables with secrets, which a backup never contains.
SECRETS = (
    "SECRET_KEY",
    "RAG_JWT_SIGNING_KEY",
    "RAG_JWT_OLD_SIGNING_KEYS",
    "DATABASE_URL",
    "REDIS_URL",
    "LLM_API_KEY",
    "OPENAI_API_KEY",
    "OPENROUTER_API_KEY",
    "LOVABLE_API_KEY",
    "RAG_ENTAILMENT_API_KEY",
    "RAG_RERANK_API_KEY",
    "QDRANT_API_KEY",
    "RAG_METRICS_TOKEN",
    "RAG_EMAIL_URL",
    "RAG_SYNC_FILE_SYSTEMS",
    "RAG_DEMO_PASSWORD",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
)
_MAX_NAMED_FILES = 20
_FILES = "SELECT source_id, id, size, sha256 FROM rag_original WHERE sha256 <> '' AND content IS NULL ORDER BY id"

# Called with what was done and how many rows or files it has.
OnProgress = Callable[[str, int], None]


@dataclass
class Backup:
    """What a backup contains.

    Attributes:
        rows: Rows of all tables.
        files: Original files.
        lost_files: The number of files that rows name and that the storage lost or changed.
        lost_ids: The ids of the first of them.
    """

    rows: int = 0
    files: int = 0
    lost_files: int = 0
    lost_ids: list[str] = field(default_factory=list)

    def add_lost(self, original: Original) -> None:
        """Count a file that the storage lost or changed, and name it if it is one of the first."""
        self.lost_files += 1
        self.lost_ids += [str(original.pk)][: _MAX_NAMED_FILES - len(self.lost_ids)]


def create(path: Path, on_progress: OnProgress) -> Backup:
    """Write a backup to a new file.

    No file is deleted from the storage meanwhile: purges skip their turn while the backup holds the lock. So every file
    that a row names exists.

    Raises:
        DatabaseError: The connection to the database was lost. There is no archive.
        FileExistsError: If the file exists, or another process is writing it.
        StorageFailed: The storage did not answer. There is no archive.
    """
    if path.exists():
        raise FileExistsError(str(path))
    writer = ArchiveWriter(path)
    try:
        with (
            session_lock(original_files.FILES_LOCK, wait=True),
            tempfile.TemporaryFile(dir=settings.RAG_TEMP_FOLDER) as names,
        ):
            backup = Backup()
            tables = _add_tables(writer, names, backup, on_progress)
            manifest: Manifest = {**tables, "originals": _add_files(writer, names, backup, on_progress)}
            with connection.cursor() as cursor:
                cursor.execute("SELECT")  # fails if the connection, and so the lock, was lost
        writer.finish(manifest)
    finally:
        writer.discard()
    return backup


def _add_tables(writer: ArchiveWriter, names: IO[bytes], backup: Backup, on_progress: OnProgress) -> TablesManifest:
    """Add all tables as of one moment, and write the names of the files that they need to `names`."""
    with copy_tables.snapshot():
        tables: list[TableEntry] = []
        for table in copy_tables.list_tables():
            rows = copy_tables.copy_out(table)
            content = writer.add_table(table.name, rows)
            tables.append({"name": table.name, "columns": table.columns, "rows": rows.row_count, **content})
            backup.rows += rows.row_count
            on_progress(table.name, rows.row_count)
        names.writelines(copy_tables.CopyOut(_FILES, as_text=True))
        names.seek(0)
        return {
            "format": FORMAT,
            "version": ragsite.__version__,
            "created_at": timezone.now().isoformat(),
            "postgresql": copy_tables.server_version(),
            "extensions": copy_tables.list_extensions(),
            "migrations": sorted(MigrationRecorder(connection).applied_migrations()),
            "tables": tables,
            "sequences": copy_tables.read_sequences(),
            "excluded_secrets": SECRETS,
            "secret_key_fingerprint": secret_key_fingerprint(),
        }


def _add_files(writer: ArchiveWriter, names: IO[bytes], backup: Backup, on_progress: OnProgress) -> OriginalFiles:
    digest = OriginalsDigest()
    for original in _read_originals(names):
        try:
            with file_storage.local_copy(original) as copy, open(copy, "rb") as content:
                size = copy.stat().st_size
                sha256 = writer.add_file(storage_path(original), content, size)
        except StorageFailed as error:
            if error.is_retryable:
                raise
            if original_files.is_used(original):  # else it belongs to a refused request, which removes its files
                backup.add_lost(original)
            continue
        digest.add(storage_path(original), size, sha256)
        if sha256 != original.sha256:
            backup.add_lost(original)
        backup.files += 1
        on_progress("original files", 1)
    return {**digest.summary(), "lost": backup.lost_files}


def _read_originals(listing: IO[bytes]) -> Iterator[Original]:
    """Yield the original files that `_add_tables` has listed, one per line."""
    for line in listing:
        source_id, pk, size, sha256 = line.decode().rstrip("\n").split("\t")
        yield Original(pk=pk, source_id=source_id, size=int(size), sha256=sha256)
