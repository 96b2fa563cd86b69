"""The sweep recovers lost work. Celery beat runs it every RAG_SWEEP_INTERVAL_SECONDS."""

import contextlib
import datetime
import uuid
from collections.abc import Iterator

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from rag import task_queue
from rag.errors import EmbeddingFailed
from rag.models import IngestionDocument, ModelOutage
from rag.services.jobs import close_and_cancel, document_failures
from rag.services.jobs.worker_notifications import MAX_DOCUMENTS_PER_CELERY_MESSAGE, notify_workers
from ragsite.postgres.models import database_now

from . import embedding_outages

State = IngestionDocument.State
# Maximum number of documents that one sweep puts back into the queue; the next sweep continues.
_MAX_DOCUMENTS = 8 * MAX_DOCUMENTS_PER_CELERY_MESSAGE


def sweep() -> None:
    """Requeue documents that lost their worker or whose pause is over, and close finished jobs.

    Also notify workers about queued documents whose messages may be lost: those of the jobs of a dead worker, and, if
    nothing was requeued and no message is waiting, all others.

    A sweep can run at the same time as workers and other sweeps: a document that a worker has claimed cannot be claimed
    twice.
    """
    now = database_now()
    embedding_outages.delete_stale_outages(now)
    _fail_documents_without_attempts(now)
    _fail_documents_of_silent_models(now)
    abandoned = IngestionDocument.objects.filter(state=State.RUNNING, due_at__lt=now)
    postponed = IngestionDocument.objects.filter(state=State.QUEUED, due_at__lt=now)
    # The lost message may have covered more documents of these jobs.
    interrupted_jobs = set(abandoned.values_list("job_id", flat=True)[:_MAX_DOCUMENTS])
    ids = [*_requeue(abandoned), *_requeue(postponed)]
    claimable = _claimable(now)
    if interrupted_jobs:
        claimable = claimable.filter(job_id__in=interrupted_jobs)
    if interrupted_jobs or (not ids and task_queue.count_waiting() == 0):
        ids = list(dict.fromkeys([*ids, *claimable.values_list("pk", flat=True)[:_MAX_DOCUMENTS]]))
    notify_workers(len(ids))
    open_documents = IngestionDocument.objects.filter(job=OuterRef("pk"), state__in=IngestionDocument.OPEN_STATES)
    finished_jobs = close_and_cancel.unfinished_jobs().exclude(Exists(open_documents))
    for job_id in finished_jobs.values_list("pk", flat=True)[:_MAX_DOCUMENTS]:
        close_and_cancel.close_if_finished(job_id)


def _claimable(now: datetime.datetime) -> QuerySet[IngestionDocument]:
    """Return the queued documents that a worker may claim now: not those of a model whose pause is not over."""
    paused_models = ModelOutage.objects.filter(until__gt=now).values("model")
    queued = IngestionDocument.objects.filter(state=State.QUEUED, due_at=None)
    return queued.exclude(source__embedding_model__in=paused_models) if paused_models.exists() else queued


def _fail_documents_without_attempts(now: datetime.datetime) -> None:
    """Fail abandoned documents that have lost their worker too often. Their input is kept for a retry."""
    abandoned = IngestionDocument.objects.filter(state=State.RUNNING, due_at__lt=now)
    with _lock_free_documents(abandoned.filter(attempts__gte=settings.RAG_MAX_ATTEMPTS)) as (ids, locked_documents):
        locked_documents.update(
            state=State.FAILED,
            error_code="WORKER_LOST",
            error_message=f"The worker was lost {settings.RAG_MAX_ATTEMPTS} times while processing this document. "
            "Retry it. If it fails again, divide it into smaller ones, or ask the operator why workers end.",
            chunk_count=0,
            due_at=None,
            finished_at=now,
        )
        document_failures.record(ids)


def _fail_documents_of_silent_models(now: datetime.datetime) -> None:
    """Fail documents that have waited too long for a model, without calling it for each of them."""
    earliest = now - embedding_outages.max_outage_duration()
    for outage in ModelOutage.objects.filter(since__lt=earliest).select_related("model"):
        waiting = IngestionDocument.objects.filter(
            state=State.QUEUED, queued_at__lt=earliest, source__embedding_model=outage.model_id
        )
        with _lock_free_documents(waiting) as (ids, locked_documents):
            locked_documents.update(
                state=State.FAILED,
                error_code=EmbeddingFailed.code,
                error_message=f"{outage.model} has not answered since {outage.since:%Y-%m-%d %H:%M} UTC.",
                due_at=None,
                finished_at=now,
            )
            document_failures.record(ids)


def _requeue(due_documents: QuerySet[IngestionDocument]) -> list[uuid.UUID]:
    with _lock_free_documents(due_documents) as (ids, locked_documents):
        locked_documents.update(state=State.QUEUED, lease=None, due_at=None, stage="")
    return ids


@contextlib.contextmanager
def _lock_free_documents(
    documents: QuerySet[IngestionDocument],
) -> Iterator[tuple[list[uuid.UUID], QuerySet[IngestionDocument]]]:
    """Lock the documents that are due first, and yield their ids and a queryset of them, until the block ends.

    Documents that another transaction has locked, for example to cancel them, are left to the next sweep: two
    transactions that lock many rows must not wait for each other.
    """
    with transaction.atomic():
        free = documents.order_by("due_at").select_for_update(skip_locked=True, of=("self",))
        ids = list(free.values_list("pk", flat=True)[:_MAX_DOCUMENTS])
        yield ids, IngestionDocument.objects.filter(pk__in=ids)
