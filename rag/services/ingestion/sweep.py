"""What brings work back that got lost: the sweep, which beat calls every RAG_SWEEP_SECONDS."""

import contextlib
import datetime
import uuid
from collections.abc import Iterator

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from rag import queue
from rag.errors import EmbeddingFailed
from rag.models import IngestionDocument, ModelOutage
from rag.services.jobs import queries

from . import outages

State = IngestionDocument.State
# Rows a sweep brings back at most; the next one takes the rest.
_SWEPT = 16 * queries.BATCH


def sweep() -> None:
    """Bring back what is due: abandoned by a dead worker, or waiting for another try. Then close finished jobs.

    Workers are told of queued rows again (the broker was down, or lost its queue; a pause is over) once the broker has
    nothing else waiting. Harmless beside running workers: a row that somebody holds cannot be claimed twice.
    """
    now = timezone.now()
    outages.forget_old(now)
    _set_aside(now)
    _give_up_on_dead_models(now)
    lost = IngestionDocument.objects.filter(state=State.RUNNING, due_at__lt=now)
    # A dead worker's message may have named more of the same job.
    interrupted = set(lost.values_list("job_id", flat=True)[:_SWEPT])
    ids = [*_brought_back(lost), *_brought_back(IngestionDocument.objects.filter(state=State.QUEUED, due_at__lt=now))]
    untold = _to_take(now)
    if interrupted:
        untold = untold.filter(job_id__in=interrupted)
    if interrupted or (not ids and queue.waiting() == 0):
        ids = list(dict.fromkeys([*ids, *untold.values_list("pk", flat=True)[:_SWEPT]]))
    queries.tell_workers(len(ids))
    still_open = IngestionDocument.objects.filter(job=OuterRef("pk"), state__in=queries.OPEN_STATES)
    for job_id in queries.unfinished().exclude(Exists(still_open)).values_list("pk", flat=True)[:_SWEPT]:
        queries.close(job_id)


def _to_take(now: datetime.datetime) -> QuerySet[IngestionDocument]:
    """What a worker that is told may take: not while the model that it needs is left alone."""
    silent = ModelOutage.objects.filter(until__gt=now).values("model")
    queued = IngestionDocument.objects.filter(state=State.QUEUED, due_at=None)
    return queued.exclude(source__embedding_model__in=silent) if silent.exists() else queued


def _set_aside(now: datetime.datetime) -> None:
    """Documents that lost their worker too often. What was sent of them is kept for a retry."""
    lost = IngestionDocument.objects.filter(state=State.RUNNING, due_at__lt=now)
    with _unheld(lost.filter(attempts__gte=settings.RAG_MAX_ATTEMPTS)) as (_, poison):
        poison.update(
            state=State.FAILED,
            error_code="WORKER_LOST",
            error_message=f"Its worker was lost while at work on it, {settings.RAG_MAX_ATTEMPTS} times.",
            chunk_count=0,
            due_at=None,
            finished_at=now,
        )


def _give_up_on_dead_models(now: datetime.datetime) -> None:
    """Documents that have waited for a model that did not answer all the while fail, without asking it for each."""
    begun = now - outages.patience()
    for outage in ModelOutage.objects.filter(since__lt=begun).select_related("model"):
        waiting = IngestionDocument.objects.filter(
            state=State.QUEUED, queued_at__lt=begun, source__embedding_model=outage.model_id
        )
        with _unheld(waiting) as (_, rows):
            rows.update(
                state=State.FAILED,
                error_code=EmbeddingFailed.code,
                error_message=f"{outage.model} has not answered since {outage.since:%Y-%m-%d %H:%M} UTC.",
                due_at=None,
                finished_at=now,
            )


def _brought_back(due: QuerySet[IngestionDocument]) -> list[uuid.UUID]:
    with _unheld(due) as (ids, rows):
        rows.update(state=State.QUEUED, lease=None, due_at=None, stage="")
    return ids


@contextlib.contextmanager
def _unheld(
    documents: QuerySet[IngestionDocument],
) -> Iterator[tuple[list[uuid.UUID], QuerySet[IngestionDocument]]]:
    """Those that were due first, locked for the block. Those that somebody else has locked (to cancel them, say) are
    left to the next sweep: two who lock many rows must not wait for each other."""
    with transaction.atomic():
        free = documents.order_by("due_at").select_for_update(skip_locked=True, of=("self",))
        ids = list(free.values_list("pk", flat=True)[:_SWEPT])
        yield ids, IngestionDocument.objects.filter(pk__in=ids)
