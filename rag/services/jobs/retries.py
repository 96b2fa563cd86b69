"""Failed documents again; and what was sent of them, kept for that and forgotten in time."""

import datetime
import uuid

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from orgs.access.caller import Caller
from orgs.models import Organization
from rag.errors import NotAllowed, NothingToRetry
from rag.models import Action, DataSource, IngestionDocument, IngestionJob
from rag.pipeline.ingestion import quota

from . import dispatch, queries

logger = structlog.get_logger(__name__)

State, Status = IngestionDocument.State, IngestionJob.Status


@transaction.atomic
def retry_job(caller: Caller, job_id: uuid.UUID, *, organization: Organization | None = None) -> None:
    """Try the job's failed documents again. Raises UnknownJob, NotAllowed, NothingToRetry, IndexFull."""
    job = queries.get_job(caller, job_id, organization=organization)
    if not DataSource.objects.visible_to(caller, Action.INGEST).filter(pk=job.source_id).exists():
        raise NotAllowed("You may watch this job, but not send documents to its source.")
    failed = IngestionDocument.objects.filter(job=job, state=State.FAILED)
    if retry_documents(failed):
        return
    if job.status == Status.CANCELLED:
        raise NothingToRetry("The job was cancelled. Send its documents again, as a new job.")
    if not failed.exists():
        raise NothingToRetry("No document of this job has failed.")
    raise NothingToRetry("What was sent of the failed documents is not kept any more. Send them again, as a new job.")


@transaction.atomic
def retry_documents(wanted: QuerySet[IngestionDocument]) -> int:
    """Put failed documents back into the queue, as often as they failed before; how many there were.

    Left out are those of cancelled jobs and deleted sources, and those of which nothing is kept. Raises IndexFull.
    """
    again = wanted.filter(state=State.FAILED).filter(~Q(text="") | Q(original__isnull=False))
    wanted_jobs = IngestionJob.objects.filter(pk__in=again.values("job"), source__deleted_at=None)
    wanted_jobs = wanted_jobs.exclude(status=Status.CANCELLED)
    # Sources before jobs, as whoever deletes a source locks them.
    for source in DataSource.objects.filter(pk__in=wanted_jobs.values("source")).order_by("pk"):
        source.hold(any_model=True)
        quota.refuse_if_full(source.organization_id)
    locked = list(wanted_jobs.order_by("pk").select_for_update(of=("self",)))
    ids = list(again.filter(job__in=locked).order_by("pk").values_list("pk", flat=True))
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
    ended = IngestionJob.objects.filter(pk__in=[job.pk for job in locked], status__in=[Status.COMPLETED, Status.FAILED])
    ended.update(status=Status.PROCESSING, finished_at=None)
    dispatch.notify_workers(len(ids))
    logger.info("ingestion_retried", jobs=[str(job.pk) for job in locked], documents=len(ids))
    return len(ids)


# Documents that one transaction of forgetting empties.
_FORGOTTEN = 500


def delete_expired_inputs() -> None:
    """Empty what was sent of documents that ended RAG_JOB_RETENTION_DAYS ago. Their rows, and their jobs', stay."""
    before = timezone.now() - datetime.timedelta(days=settings.RAG_JOB_RETENTION_DAYS)
    kept = IngestionDocument.objects.filter(finished_at__lt=before).exclude(text="", original=None)
    while ids := list(kept.order_by("finished_at").values_list("pk", flat=True)[:_FORGOTTEN]):
        # Not what a retry has put back meanwhile.
        ended = IngestionDocument.objects.filter(pk__in=ids, finished_at__lt=before)
        if not ended.update(text="", original=None):
            return
