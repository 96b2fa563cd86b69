"""How ingestion jobs end: closed when their last document has ended, or cancelled."""

import uuid

import structlog
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from orgs.access.caller import Caller
from orgs.models import Organization
from rag.models import IngestionDocument, IngestionJob
from rag.services.webhooks import events

from . import job_lookup

logger = structlog.get_logger(__name__)

State, Status = IngestionDocument.State, IngestionJob.Status


def unfinished_jobs() -> QuerySet[IngestionJob]:
    """Return the jobs of all organisations that are queued or being processed."""
    return IngestionJob.objects.filter(status__in=IngestionJob.OPEN_STATUSES)


def close_if_finished(job_id: uuid.UUID) -> None:
    """End the job if none of its documents is open: as failed if every document failed, else as completed."""
    documents = IngestionDocument.objects.filter(job_id=job_id)
    open_documents = documents.filter(state__in=IngestionDocument.OPEN_STATES)
    if open_documents.exists():
        return
    with transaction.atomic():
        job = unfinished_jobs().select_for_update().filter(pk=job_id).first()
        if job is None or open_documents.exists():
            return
        have_all_failed = not documents.exclude(state=State.FAILED).exists()
        job.status = Status.FAILED if have_all_failed else Status.COMPLETED
        job.finished_at = timezone.now()
        job.save(update_fields=["status", "finished_at"])
        events.record_job_end(job)
    logger.info("ingestion_job_finished", job=str(job_id), status=job.status)


@transaction.atomic
def cancel_job(caller: Caller, job_id: uuid.UUID, *, organization: Organization | None = None) -> None:
    """Cancel a job. Documents that are indexed stay; no other is indexed once this is committed.

    A job that has ended does not change.

    Args:
        caller: The caller, whose permissions apply.
        job_id: The job.
        organization: The organisation that the request names, if any.

    Raises:
        UnknownJob: If there is no such job, or the caller may not watch it.
    """
    job = job_lookup.get_job(caller, job_id, organization=organization)
    cancel_jobs(IngestionJob.objects.filter(pk=job.pk))
    close_if_finished(job.pk)  # if its last document has just ended


def cancel_jobs(jobs: QuerySet[IngestionJob]) -> None:
    """Cancel the jobs that have open documents, inside the current transaction.

    A worker writes a document's chunks and its outcome in one transaction, and the outcome only while it holds the
    document's lease. Either it has committed before the lease is removed here, or its transaction is rolled back.
    """
    ids = list(unfinished_jobs().filter(pk__in=jobs).order_by("pk").select_for_update().values_list("pk", flat=True))
    now = timezone.now()
    open_documents = IngestionDocument.objects.filter(job__in=ids, state__in=IngestionDocument.OPEN_STATES)
    # Locked in the order of their keys, as everywhere where several rows are locked: this prevents deadlocks.
    document_ids = list(open_documents.order_by("pk").select_for_update().values_list("pk", flat=True))
    IngestionDocument.objects.filter(pk__in=document_ids).update(
        state=State.CANCELLED, lease=None, due_at=None, text="", chunk_count=0, finished_at=now
    )
    cancelled = IngestionJob.objects.filter(pk__in=ids, documents__state=State.CANCELLED)
    cancelled.update(status=Status.CANCELLED, finished_at=now)
