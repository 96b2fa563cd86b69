"""Original files: stored while a document or a job needs them, then deleted with their rows.

The content of a small file is in its row. Otherwise the row is committed before its file is written, and deleted after
its file is removed. So every file has a row: files that a killed process leaves behind are found by their rows, and the
storage never has to be listed.
"""

import datetime
import hashlib
import time
import uuid
from collections.abc import Callable, Sequence
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
# Up to this size the content is in the row, which costs a tenth of a file in a folder, and no request to a bucket.
MAX_BYTES_IN_ROW = 8 * 1024
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
    """Write the files to the storage, in chunks, and create their rows; only read the small ones.

    Must not run inside a transaction. Call `add_to_job` when a job refers to the files; those without a job are deleted
    after a day. If it raises, all files are removed again.

    Returns:
        The originals, one for each file and in the same order. Small ones are not in the database yet.

    Raises:
        DocumentTooLarge: If a file has more than RAG_MAX_FILE_BYTES bytes.
        StorageFailed: If the storage does not answer.
        UnknownSource: If the source was deleted in the meantime.
    """
    originals = [_build_row(source, file) for file in files]
    large = [(original, file) for original, file in zip(originals, files, strict=True) if original.content is None]
    stored: list[Original] = []
    try:
        for start in range(0, len(large), _MAX_FILES_PER_WRITE):
            batch = large[start : start + _MAX_FILES_PER_WRITE]
            stored += _create_rows(source, [original for original, _ in batch])
            _write_files(batch)
    except BaseException as error:
        is_purged = isinstance(error, StorageFailed) and _count_existing(stored) < len(stored)
        discard(stored)
        if is_purged:  # the purge of a deleted source has removed the files while they were written
            raise UnknownSource from error
        raise
    return originals


def _create_rows(source: DataSource, originals: list[Original]) -> list[Original]:
    with transaction.atomic(durable=True):
        source.lock_for_write(any_model=True)
        insert_rows(originals)
    return originals


def _build_row(source: DataSource, file: IncomingFile) -> Original:
    """Return the row of a file: complete if the file is small, else without size and hash."""
    original = Original(source=source, name=file.name, content_type=file.content_type, size=0, sha256="")
    original.check_at = timezone.now() + _UPLOAD_TIMEOUT
    limit = min(MAX_BYTES_IN_ROW, settings.RAG_MAX_FILE_BYTES)
    with file.open_content() as opened:
        content = opened.read(limit + 1)
    if len(content) <= limit:
        original.content = content
        original.size, original.sha256 = len(content), hashlib.sha256(content).hexdigest()
    return original


def _write_files(files: Sequence[tuple[Original, IncomingFile]]) -> None:
    for original, file in files:
        with file.open_content() as content:
            written = file_storage.write(storage_path(original), content, max_bytes=settings.RAG_MAX_FILE_BYTES)
        original.size, original.sha256 = written.size, written.sha256
    if _save_sizes([original for original, _ in files]) < len(files):
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


def add_to_job(source: DataSource, originals: Sequence[Original]) -> None:
    """Create the rows of small files, and schedule the regular checks of all, in the transaction that creates the job.

    Args:
        source: The data source of the files.
        originals: What `store_files` returned.

    Raises:
        UnknownSource: If the source was deleted in the meantime.
    """
    source.lock_for_write(any_model=True)
    first_check = timezone.now() + _MIN_CHECK_INTERVAL
    small = [original for original in originals if original.content is not None]
    for original in small:
        original.check_at = first_check
    insert_rows(small)
    large_ids = [original.pk for original in originals if original.content is None]
    Original.objects.filter(pk__in=large_ids).update(check_at=first_check)


def discard(originals: Sequence[Original]) -> None:
    """Delete the files of a refused request. Files that the storage does not remove now are purged later."""
    _delete([original for original in originals if original.content is None])  # the others were not stored


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
        Original.objects.without_content()
        .select_for_update()
        .filter(source=source_id)
        .order_by("pk")[:_MAX_FILES_PER_PURGE]
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
    due = list(Original.objects.without_content().due().select_for_update(skip_locked=True)[:_MAX_FILES_PER_PURGE])
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
    """Remove the files, then their rows. Returns False if the storage failed before all were removed.

    Args:
        originals: Files that were just stored, or rows from `without_content()`.
    """
    in_rows = {original.pk for original in originals if getattr(original, "is_in_row", False)}
    removed_ids = list(in_rows)
    try:
        for original in originals:
            if original.pk not in in_rows:
                file_storage.delete(storage_path(original))
                removed_ids.append(original.pk)
    except StorageFailed as error:
        logger.warning("originals_not_removed", cause=type(error.__cause__).__name__)
    Original.objects.filter(pk__in=removed_ids).delete()
    return len(removed_ids) == len(originals)
