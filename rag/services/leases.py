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

State = IngestionDocument.State


class LeaseLost(Exception):
    """The row is no longer ours: cancelled, or taken over because we were silent for too long."""


def claim(document_id: uuid.UUID) -> IngestionDocument | None:
    """Take the row, or None if it is done, waiting for another try, or somebody else's."""
    token = uuid7()
    taken = IngestionDocument.objects.filter(pk=document_id, state=State.QUEUED, due_at=None).update(
        state=State.RUNNING, attempts=F("attempts") + 1, lease=token, due_at=_end(), chunk_count=0
    )
    if not taken:
        return None
    return (
        IngestionDocument.objects.select_related("job__source__embedding_model")
        .filter(pk=document_id, lease=token)
        .first()
    )


@contextlib.contextmanager
def heartbeat(row: IngestionDocument) -> Iterator[None]:
    """Prolong the lease while this process works on the row: if the process dies, so does the lease."""
    finished = threading.Event()

    def beat() -> None:
        try:
            while not finished.wait(settings.RAG_LEASE_SECONDS / 3):
                update_held(row, due_at=_end())
        except (LeaseLost, DatabaseError):
            pass  # whoever writes the outcome finds out
        finally:
            connection.close()

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
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
