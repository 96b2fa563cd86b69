"""Files as they were sent: kept while a document or a job needs them, and removed, row and file, when none does.

The row is committed before the file is written, and goes after the file is removed. So every file has a row, and what a
killed process leaves behind is found by its row; the storage never has to be listed.
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
from rag.models.content.originals import place
from rag.providers import file_storage

logger = structlog.get_logger(__name__)

State = IngestionDocument.State
# A file that no job was made of within a day is of a process that died.
_ARRIVING = datetime.timedelta(days=1)
# The first look after its job was made; later ones as far apart as the file is old, at most a day.
_SOON = datetime.timedelta(minutes=10)
_BATCH = 50
# Files whose rows are written together.
_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class IncomingFile:
    """A file on its way in. opened: a reader that stands at its beginning. name: as its owner calls it. content_type:
    as it was declared."""

    opened: Callable[[], AbstractContextManager[IO[bytes]]]
    name: str
    content_type: str


def store_files(*, source: DataSource, files: Sequence[IncomingFile]) -> list[Original]:
    """Store the files, each in pieces. Call `needed` once something refers to them, else they go in a day.

    Raises DocumentTooLarge (RAG_MAX_FILE_BYTES), StorageFailed, and UnknownSource if the source was deleted meanwhile;
    then nothing is left. Not inside a transaction.
    """
    kept: list[Original] = []
    try:
        for start in range(0, len(files), _AT_ONCE):
            batch = files[start : start + _AT_ONCE]
            rows = _rows(source, batch)
            kept += rows
            _write(rows, batch)
    except BaseException as error:
        gone = isinstance(error, StorageFailed) and _count(kept) < len(kept)
        discard(kept)
        if gone:  # the purge was quicker than the storage
            raise UnknownSource from error
        raise
    return kept


def _rows(source: DataSource, files: Sequence[IncomingFile]) -> list[Original]:
    rows = [
        Original(source=source, name=file.name, content_type=file.content_type, size=0, sha256="") for file in files
    ]
    for row in rows:
        row.file.name, row.check_at = place(row), timezone.now() + _ARRIVING
    with transaction.atomic(durable=True):
        source.hold(any_model=True)
        return Original.objects.bulk_create(rows)


def _write(rows: Sequence[Original], files: Sequence[IncomingFile]) -> None:
    for row, file in zip(rows, files, strict=True):
        with file.opened() as content:
            written = file_storage.write(place(row), content, most=settings.RAG_MAX_FILE_BYTES)
        row.size, row.sha256 = written.size, written.sha256
    if _note_written(rows) < len(rows):
        raise UnknownSource  # and purged, before the files were whole


def _note_written(rows: Sequence[Original]) -> int:
    """How many of the rows are there. (`bulk_update` takes longer than to write the files.)"""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE rag_original AS old SET size = new.size, sha256 = new.sha256 "
            "FROM unnest(%s::uuid[], %s::bigint[], %s::text[]) AS new (id, size, sha256) WHERE old.id = new.id",
            [[row.pk for row in rows], [row.size for row in rows], [row.sha256 for row in rows]],
        )
        return int(cursor.rowcount)


def _count(originals: Sequence[Original]) -> int:
    return Original.objects.filter(pk__in=[original.pk for original in originals]).count()


def mark_used(ids: Iterable[uuid.UUID]) -> None:
    """Inside the transaction that makes a job of them."""
    Original.objects.filter(pk__in=list(ids)).update(check_at=timezone.now() + _SOON)


def discard(originals: Sequence[Original]) -> None:
    """Those of a request that is refused. What the storage does not remove now, the purge does later."""
    _remove(originals)


def purge_unused(*, end: float) -> None:
    """Look at originals that are due until the clock (time.monotonic) says `end`; remove those that nothing needs."""
    while time.monotonic() < end and _look_at_some():
        pass
    file_storage.forget_copies()


def remove_batch_of_source(source_id: uuid.UUID) -> bool:
    """Of a deleted source, inside the purge's transaction. False if the storage does not answer: later, then."""
    originals = list(Original.objects.select_for_update().filter(source=source_id).order_by("pk")[:_BATCH])
    return _remove(originals)


@transaction.atomic
def _look_at_some() -> bool:
    """False if nothing is due, or the storage does not answer."""
    now = timezone.now()
    due = list(Original.objects.due().select_for_update(skip_locked=True)[:_BATCH])
    # Asked only now that they are locked: nobody can refer to them any more before this transaction ends.
    held = set(_in_use().filter(pk__in=[each.pk for each in due]).values_list("pk", flat=True))
    for original in due:
        if original.pk in held:
            age = now - original.created_at
            original.check_at = now + min(max(age, _SOON), datetime.timedelta(days=1))
    Original.objects.bulk_update([each for each in due if each.pk in held], ["check_at"])
    if not _remove([each for each in due if each.pk not in held]):
        Original.objects.filter(pk__in=[each.pk for each in due]).update(check_at=now + _SOON)
        return False
    return len(due) == _BATCH


def _in_use() -> QuerySet[Original]:
    """By a live document, by one that a job has not ended, or by one that failed and may be tried again (until
    RAG_JOB_RETENTION_DAYS are over: services/retries.py)."""
    sent = IngestionDocument.objects.filter(original=OuterRef("pk"))
    return Original.objects.filter(
        Exists(Document.objects.live().filter(original=OuterRef("pk")))
        | Exists(sent.filter(state__in=[State.QUEUED, State.RUNNING, State.FAILED]))
    )


def _remove(originals: Sequence[Original]) -> bool:
    removed = []
    try:
        for original in originals:
            file_storage.remove(place(original))
            removed.append(original.pk)
    except StorageFailed as error:
        logger.warning("originals_not_removed", cause=type(error.__cause__).__name__)
    Original.objects.filter(pk__in=removed).delete()
    return len(removed) == len(originals)
