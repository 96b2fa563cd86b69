"""Who works on a document of a job: a lease that ends by itself when its holder dies.

The row's token fences: a result is written only by whoever holds the row now, however late another one wakes up.
"""

import contextlib
import datetime
import threading
import uuid
from collections.abc import Iterator

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.models import F
from django.utils import timezone

from rag.models import IngestionDocument
from ragsite.db import uuid7

State, Stage = IngestionDocument.State, IngestionDocument.Stage


class LeaseLost(Exception):
    """The row is no longer ours: cancelled, or taken over because we were silent for too long."""


def claim(document_id: uuid.UUID) -> IngestionDocument | None:
    """Take the row, or None if it is done, waiting for another try, or somebody else's."""
    token = uuid7()
    taken = IngestionDocument.objects.filter(pk=document_id, state=State.QUEUED, due_at=None).update(
        state=State.RUNNING,
        stage=Stage.PARSING,
        attempts=F("attempts") + 1,
        lease=token,
        claimed_at=timezone.now(),
        due_at=_end(),
        chunk_count=0,
    )
    if not taken:
        return None
    return (
        IngestionDocument.objects.select_related("job__source__embedding_model")
        .filter(pk=document_id, lease=token)
        .first()
    )


class Holding:
    """The rows that this process works on. Their leases are prolonged until they are let go, or the process dies."""

    def __init__(self) -> None:
        self._tokens: set[uuid.UUID | None] = set()
        self._changing = threading.Lock()

    def claim(self, document_id: uuid.UUID) -> IngestionDocument | None:
        row = claim(document_id)
        if row is not None:
            with self._changing:
                self._tokens.add(row.lease)
        return row

    def let_go(self, row: IngestionDocument) -> None:
        with self._changing:
            self._tokens.discard(row.lease)

    def prolong(self) -> None:
        with self._changing:
            tokens = list(self._tokens)
        if tokens:
            IngestionDocument.objects.filter(state=State.RUNNING, lease__in=tokens).update(due_at=_end())


@contextlib.contextmanager
def holding() -> Iterator[Holding]:
    """A thread beats for whatever is claimed in the block."""
    held, finished = Holding(), threading.Event()

    def beat() -> None:
        while not finished.wait(settings.RAG_LEASE_SECONDS / 3):
            try:
                held.prolong()
            except DatabaseError:
                connection.close()  # the next beat tries anew, and whoever writes an outcome finds out
        connection.close()

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield held
    finally:
        finished.set()
        thread.join()


def _end() -> datetime.datetime:
    return timezone.now() + datetime.timedelta(seconds=settings.RAG_LEASE_SECONDS)


def update_held(row: IngestionDocument, **values: object) -> None:
    """Write to the row if we still hold it. Raises LeaseLost."""
    held = IngestionDocument.objects.filter(pk=row.pk, state=State.RUNNING, lease=row.lease)
    if not held.update(**values):
        raise LeaseLost
