"""What brings work back that got lost: the sweep, which beat calls every RAG_SWEEP_SECONDS."""

import contextlib
import uuid
from collections.abc import Iterator

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from rag import queue
from rag.models import IngestionDocument

from . import jobs

State = IngestionDocument.State
# Rows a sweep brings back at most; the next one takes the rest.
_SWEPT = 64 * jobs.BATCH


def sweep() -> None:
    """Bring back what is due: abandoned by a dead worker, or waiting for another try. Then close finished jobs.

    Queued rows of which no worker was told (the broker was down, or lost its queue) are sent again once the broker has
    nothing else waiting. Harmless beside running workers: a row that somebody holds cannot be claimed twice.
    """
    now = timezone.now()
    due = IngestionDocument.objects.filter(state__in=jobs.OPEN_STATES, due_at__lt=now)
    lost = due.filter(state=State.RUNNING)
    with _unheld(lost.filter(attempts__gte=settings.RAG_MAX_ATTEMPTS)) as (_, poison):
        poison.update(
            state=State.FAILED,
            error_code="WORKER_LOST",
            error_message=f"Its worker was lost while at work on it, {settings.RAG_MAX_ATTEMPTS} times.",
            text="",
            chunk_count=0,
            due_at=None,
            finished_at=now,
        )
    untold = IngestionDocument.objects.filter(state=State.QUEUED, due_at=None)
    # A dead worker's message may have named more of the same job.
    interrupted = set(lost.values_list("job_id", flat=True)[:_SWEPT])
    with _unheld(due) as (ids, rows):
        rows.update(state=State.QUEUED, lease=None, due_at=None)
    if interrupted:
        untold = untold.filter(job_id__in=interrupted)
    if interrupted or (not ids and queue.waiting() == 0):
        ids = list(dict.fromkeys([*ids, *untold.order_by("pk").values_list("pk", flat=True)[:_SWEPT]]))
    jobs.send(ids)
    for job_id in jobs.unfinished().exclude(documents__state__in=jobs.OPEN_STATES).values_list("pk", flat=True):
        jobs.close(job_id)


@contextlib.contextmanager
def _unheld(
    documents: QuerySet[IngestionDocument],
) -> Iterator[tuple[list[uuid.UUID], QuerySet[IngestionDocument]]]:
    """The oldest of them, locked for the block. Those that somebody else has locked (to cancel them, say) are left to
    the next sweep: two who lock many rows must not wait for each other."""
    with transaction.atomic():
        found = documents.order_by("pk").select_for_update(skip_locked=True).values_list("pk", flat=True)
        ids = list(found[:_SWEPT])
        yield ids, IngestionDocument.objects.filter(pk__in=ids)
