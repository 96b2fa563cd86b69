"""Original files: stored while a document or a job needs them, then deleted with their rows.

The row is committed before its file is written, and deleted after its file is removed. So every file has a row: files
that a killed process leaves behind are found by their rows, and the storage never has to be listed.
"""

import datetime
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import IO

import structlog
from django.conf import settings
from django.db import connection, transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from rag.errors import StorageFailed, UnknownSource
from rag.models import DataSource, Document, IngestionDocument, Original
from rag.models.content.originals import storage_path
from rag.providers import file_storage
from ragsite.postgres.locks import try_advisory_xact_lock
from ragsite.postgres.statements.insert_rows import insert_rows

logger = structlog.get_logger(__name__)

State = IngestionDocument.State
# A purge needs it in shared mode and skips its turn while a backup holds it exclusively, so that no file is deleted
# before it was copied.
FILES_LOCK = "original files"
# A file without a job after this time belongs to a process that died.
_UPLOAD_TIMEOUT = datetime.timedelta(days=1)
# A file is first checked after the minimum; later checks are as far apart as the file is old, up to the maximum.
_MIN_CHECK_INTERVAL = datetime.timedelta(minutes=10)
_MAX_CHECK_INTERVAL = datetime.timedelta(days=1)
_MAX_FILES_PER_PURGE = 50
# How many rows of files are written with one statement.
_MAX_FILES_PER_WRITE = 500


@dataclass(frozen=True, slots=True)
class IncomingFile:
    """A file that is to be stored.

    Attributes:
        open_content: Returns the content, positioned at its beginning, each time that it is called.
        name: The client's name of the file.
        content_type: The MIME type that the client declared; may be empty.
    """

    open_content: Callable[[], AbstractContextManager[IO[bytes]]]
    name: str
    content_type: str


def store_files(*, source: DataSource, files: Sequence[IncomingFile]) -> list[Original]:
    """Write the files to the storage, in chunks, and create their rows.

    Must not run inside a transaction. Call `mark_used` when a job refers to the files; those without a job are deleted
    after a day. If it raises, all files are removed again.

    Returns:
        The stored originals, one for each file and in the same order.

    Raises:
        DocumentTooLarge: If a file has more than RAG_MAX_FILE_BYTES bytes.
        StorageFailed: If the storage does not answer.
        UnknownSource: If the source was deleted in the meantime.
    """
    stored: list[Original] = []
    try:
        for start in range(0, len(files), _MAX_FILES_PER_WRITE):
            batch = files[start : start + _MAX_FILES_PER_WRITE]
            originals = _create_rows(source, batch)
            stored += originals
            _write_files(originals, batch)
    except BaseException as error:
        is_purged = isinstance(error, StorageFailed) and _count_existing(stored) < len(stored)
        discard(stored)
        if is_purged:  # the purge of a deleted source has removed the files while they were written
            raise UnknownSource from error
        raise
    return stored


def _create_rows(source: DataSource, files: Sequence[IncomingFile]) -> list[Original]:
    originals = [
        Original(source=source, name=file.name, content_type=file.content_type, size=0, sha256="") for file in files
    ]
    for original in originals:
        original.file.name, original.check_at = storage_path(original), timezone.now() + _UPLOAD_TIMEOUT
    with transaction.atomic(durable=True):
        source.lock_for_write(any_model=True)
        insert_rows(originals)
    return originals


def _write_files(originals: Sequence[Original], files: Sequence[IncomingFile]) -> None:
    for original, file in zip(originals, files, strict=True):
        with file.open_content() as content:
            written = file_storage.write(storage_path(original), content, max_bytes=settings.RAG_MAX_FILE_BYTES)
        original.size, original.sha256 = written.size, written.sha256
    if _save_sizes(originals) < len(originals):
        raise UnknownSource  # the source was deleted and purged before the files were complete


def _save_sizes(originals: Sequence[Original]) -> int:
    """Save size and SHA-256 of the files, and return the number of rows: fewer if the source was purged.

    One statement: `bulk_update` takes longer than writing the files.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE rag_original AS old SET size = new.size, sha256 = new.sha256 "
            "FROM unnest(%s::uuid[], %s::bigint[], %s::text[]) AS new (id, size, sha256) WHERE old.id = new.id",
            [
                [original.pk for original in originals],
                [original.size for original in originals],
                [original.sha256 for original in originals],
            ],
        )
        return int(cursor.rowcount)


def _count_existing(originals: Sequence[Original]) -> int:
    return Original.objects.filter(pk__in=[original.pk for original in originals]).count()


def mark_used(ids: Iterable[uuid.UUID]) -> None:
    """Schedule the regular checks of files that a job uses, inside the transaction that creates the job."""
    Original.objects.filter(pk__in=list(ids)).update(check_at=timezone.now() + _MIN_CHECK_INTERVAL)


def discard(originals: Sequence[Original]) -> None:
    """Delete the files of a refused request. Files that the storage does not remove now are purged later."""
    _delete(originals)


def purge_unused(*, deadline: float) -> None:
    """Check the files that are due, and delete those that nothing needs any more.

    Args:
        deadline: The time of time.monotonic() at which to stop. The next call continues.
    """
    while time.monotonic() < deadline and _purge_batch():
        pass
    file_storage.delete_expired_copies()


def delete_batch_of_source(source_id: uuid.UUID) -> bool:
    """Delete some files of a deleted source, inside the purge's transaction.

    Returns:
        False if the storage does not answer or a backup is made; the purge then continues later.
    """
    if not try_advisory_xact_lock(FILES_LOCK, shared=True):
        return False
    originals = list(
        Original.objects.select_for_update().filter(source=source_id).order_by("pk")[:_MAX_FILES_PER_PURGE]
    )
    return _delete(originals)


@transaction.atomic
def _purge_batch() -> bool:
    """Check a batch of files, and return whether to continue.

    No if the batch was the last, the storage failed or a backup is made.
    """
    if not try_advisory_xact_lock(FILES_LOCK, shared=True):
        return False
    now = timezone.now()
    due = list(Original.objects.due().select_for_update(skip_locked=True)[:_MAX_FILES_PER_PURGE])
    # Read after the rows are locked: from now on nothing can begin to refer to them before this transaction ends.
    used_ids = set(_used_originals().filter(pk__in=[original.pk for original in due]).values_list("pk", flat=True))
    used = [original for original in due if original.pk in used_ids]
    for original in used:
        age = now - original.created_at
        original.check_at = now + min(max(age, _MIN_CHECK_INTERVAL), _MAX_CHECK_INTERVAL)
    Original.objects.bulk_update(used, ["check_at"])
    if not _delete([original for original in due if original.pk not in used_ids]):
        Original.objects.filter(pk__in=[original.pk for original in due]).update(check_at=now + _MIN_CHECK_INTERVAL)
        return False
    return len(due) == _MAX_FILES_PER_PURGE


def is_used(original: Original) -> bool:
    """Return whether a document, or a job that can still process it, needs the file."""
    return _used_originals().filter(pk=original.pk).exists()


def _used_originals() -> QuerySet[Original]:
    """Return the files of live documents, of open documents of jobs, and of failed ones that can be retried.

    After RAG_JOB_RETENTION_DAYS a failed document no longer refers to its file (delete_old_inputs).
    """
    inputs = IngestionDocument.objects.filter(original=OuterRef("pk"))
    return Original.objects.filter(
        Exists(Document.objects.live().filter(original=OuterRef("pk")))
        | Exists(inputs.filter(state__in=[*IngestionDocument.OPEN_STATES, State.FAILED]))
    )


def _delete(originals: Sequence[Original]) -> bool:
    """Remove the files, then their rows. Returns False if the storage failed before all were removed."""
    removed_ids = []
    try:
        for original in originals:
            file_storage.delete(storage_path(original))
            removed_ids.append(original.pk)
    except StorageFailed as error:
        logger.warning("originals_not_removed", cause=type(error.__cause__).__name__)
    Original.objects.filter(pk__in=removed_ids).delete()
    return len(removed_ids) == len(originals)
