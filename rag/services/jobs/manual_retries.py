"""Retries failed documents. Their inputs are kept for that purpose (rag.services.maintenance.retention)."""

import uuid

import structlog
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext

from orgs.access.caller import Caller
from orgs.models import Organization
from rag.errors import NotAllowed, NothingToRetry
from rag.models import Action, DataSource, IngestionDocument, IngestionJob
from rag.models.ingestion.jobs import HAS_INPUT
from rag.pipeline.ingestion import quota

from . import job_lookup
from .worker_notifications import notify_workers

logger = structlog.get_logger(__name__)

State, Status = IngestionDocument.State, IngestionJob.Status


@transaction.atomic
def retry_job(caller: Caller, job_id: uuid.UUID, *, organization: Organization | None = None) -> None:
    """Put the failed documents of a job back into the queue.

    Args:
        caller: The caller, whose permissions apply.
        job_id: The job.
        organization: The organisation that the request names, if any.

    Raises:
        UnknownJob: If there is no such job, or the caller may not watch it.
        NotAllowed: If the caller may watch the job, but not send documents to its source.
        NothingToRetry: If the job was cancelled, or no failed document of it can be retried.
        IndexFull: If the organisation's quota is used up.
    """
    job = job_lookup.get_job(caller, job_id, organization=organization)
    if not DataSource.objects.visible_to(caller, Action.INGEST).filter(pk=job.source_id).exists():
        raise NotAllowed(
            gettext(
                "You may watch this job, but not send documents to its source. You need the permission sources.ingest "
                "in this organisation, or to be the owner of the source."
            )
        )
    failed = IngestionDocument.objects.filter(job=job, state=State.FAILED)
    if retry_documents(failed):
        return
    if job.status == Status.CANCELLED:
        raise NothingToRetry(gettext("The job was cancelled. Send its documents again, as a new job."))
    if not failed.exists():
        raise NothingToRetry(gettext("No document of this job has failed."))
    raise NothingToRetry(
        gettext("The content of the failed documents is no longer stored. Send them again, as a new job.")
    )


@transaction.atomic
def retry_documents(documents: QuerySet[IngestionDocument]) -> int:
    """Put failed documents back into the queue, with their attempts counted from zero.

    Skips documents of cancelled jobs and of deleted sources, and those whose input is deleted.

    Args:
        documents: Documents that the caller may retry; those that have not failed are skipped.

    Returns:
        The number of documents that are in the queue again.

    Raises:
        IndexFull: If the organisation's quota is used up.
    """
    retryable = documents.filter(HAS_INPUT, state=State.FAILED)
    jobs = IngestionJob.objects.filter(pk__in=retryable.values("job"), source__deleted_at=None)
    jobs = jobs.exclude(status=Status.CANCELLED)
    # Sources are locked before jobs, as when a source is deleted: one order prevents deadlocks.
    for source in DataSource.objects.filter(pk__in=jobs.values("source")).order_by("pk"):
        source.lock_for_write(any_model=True)
        quota.check_not_full(source.organization_id)
    locked_jobs = list(jobs.order_by("pk").select_for_update(of=("self",)))
    ids = list(retryable.filter(job__in=locked_jobs).order_by("pk").values_list("pk", flat=True))
    IngestionDocument.objects.filter(pk__in=ids, state=State.FAILED).update(
        state=State.QUEUED,
        attempts=0,
        outages=0,
        due_at=None,
        stage="",
        error_code="",
        error_message="",
        queued_at=timezone.now(),
        finished_at=None,
    )
    ended_jobs = IngestionJob.objects.filter(
        pk__in=[job.pk for job in locked_jobs], status__in=[Status.COMPLETED, Status.FAILED]
    )
    ended_jobs.update(status=Status.PROCESSING, finished_at=None)
    notify_workers(len(ids))
    logger.info("ingestion_retried", jobs=[str(job.pk) for job in locked_jobs], documents=len(ids))
    return len(ids)
