"""Ingestion jobs: submitted, watched, ended. How their documents are worked on is in `ingestion`."""

import uuid
from collections.abc import Sequence

import structlog
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from accounts.models import User
from orgs.models import Organization
from rag import queue
from rag.errors import UnknownJob
from rag.models import Action, Chunk, DataSource, IngestionDocument, IngestionJob
from rag.pipeline import quota
from rag.types import ChunkingOptions, Submission

logger = structlog.get_logger(__name__)

State, Status = IngestionDocument.State, IngestionJob.Status
OPEN_STATES = [State.QUEUED, State.RUNNING]
# Documents a message carries: enough to make its cost small, few enough to share a job among workers.
BATCH = 8


@transaction.atomic
def submit(
    *, source: DataSource, submissions: Sequence[Submission], options: ChunkingOptions, actor: User
) -> IngestionJob:
    """Store the job and its documents, and tell the workers once that is committed.

    Raises IndexFull if the organisation has no room at all, UnknownSource if the source was deleted meanwhile.
    """
    source.hold()
    quota.refuse_if_full(source.organization_id)
    job = IngestionJob.objects.create(
        source=source,
        created_by=actor,
        chunk_size=options.size,
        chunk_overlap=options.overlap,
        again=any(submission.again for submission in submissions),
    )
    rows = [
        IngestionDocument(
            job=job,
            index=number,
            path=submission.path,
            title=submission.title,
            text="" if submission.unreadable else submission.text,
            original_id=submission.original_id,
            content_type=submission.content_type,
            uri=submission.uri,
            lang=submission.lang,
            source_type=submission.source_type,
            tags=list(submission.tags),
            date=submission.date,
            metadata=dict(submission.metadata),
            content_hash=submission.content_hash,
            state=State.FAILED if submission.unreadable else State.QUEUED,
            error_code=submission.unreadable_code if submission.unreadable else "",
            error_message=submission.unreadable,
            finished_at=timezone.now() if submission.unreadable else None,
        )
        for number, submission in enumerate(submissions)
    ]
    IngestionDocument.objects.bulk_create(rows, batch_size=500)
    send([row.pk for row in rows if row.state == State.QUEUED])
    close(job.pk)  # if nothing of it can be read
    return job


def job_visible_to(user: User, job_id: uuid.UUID, *, organization: Organization | None = None) -> IngestionJob:
    """The job with its progress, of one organisation where the request names one. Raises UnknownJob."""
    jobs = IngestionJob.objects.visible_to(user, Action.VIEW)
    if organization:
        jobs = jobs.filter(source__organization=organization)
    job = jobs.with_progress().filter(pk=job_id).first()
    if job is None:
        raise UnknownJob
    return job


@transaction.atomic
def cancel(user: User, job_id: uuid.UUID, *, organization: Organization | None = None) -> None:
    """End the job: what is indexed stays, and nothing more is indexed once this is committed. Raises UnknownJob.

    A job that has ended stays as it is.
    """
    job = job_visible_to(user, job_id, organization=organization)
    cancel_all(IngestionJob.objects.filter(pk=job.pk))
    close(job.pk)  # if nothing of it was open any more


def cancel_all(wanted: QuerySet[IngestionJob]) -> None:
    """End those of the jobs that have open documents, inside the caller's transaction.

    A worker writes its document's chunks and its outcome in one transaction, and the outcome only while it holds the
    row's lease: it has committed before the lease is taken away here, or it takes everything back.
    """
    ids = list(unfinished().filter(pk__in=wanted).order_by("pk").select_for_update().values_list("pk", flat=True))
    now = timezone.now()
    open_documents = IngestionDocument.objects.filter(job__in=ids, state__in=OPEN_STATES)
    open_documents.update(state=State.CANCELLED, lease=None, due_at=None, text="", chunk_count=0, finished_at=now)
    cancelled = IngestionJob.objects.filter(pk__in=ids, documents__state=State.CANCELLED)
    cancelled.update(status=Status.CANCELLED, finished_at=now)


def indexed_chunks(job: IngestionJob, limit: int) -> list[uuid.UUID]:
    """The ids of the chunks that this job's documents have now."""
    documents = job.documents.filter(state=State.DONE).values("document")
    return list(Chunk.objects.filter(document__in=documents).order_by("pk").values_list("pk", flat=True)[:limit])


def failures(job: IngestionJob, limit: int) -> list[IngestionDocument]:
    """The job's failed documents: index, path, error_code, error_message."""
    failed = job.documents.filter(state=State.FAILED).order_by("index")
    return list(failed.only("index", "path", "error_code", "error_message")[:limit])


def send(ids: Sequence[uuid.UUID]) -> None:
    """Few documents go one by one: they may be long, and every worker shall have a part."""
    size = max(1, min(BATCH, len(ids) // 16))
    for start in range(0, len(ids), size):
        queue.send("rag.ingest_documents", [str(each) for each in ids[start : start + size]])


def unfinished() -> QuerySet[IngestionJob]:
    return IngestionJob.objects.filter(status__in=[Status.QUEUED, Status.PROCESSING])


def close(job_id: uuid.UUID) -> None:
    """End the job if nothing of it is open: failed if every document failed, else completed."""
    documents = IngestionDocument.objects.filter(job_id=job_id)
    if documents.filter(state__in=OPEN_STATES).exists():
        return
    with transaction.atomic():
        job = unfinished().select_for_update().filter(pk=job_id).first()
        if job is None or documents.filter(state__in=OPEN_STATES).exists():
            return
        all_failed = not documents.exclude(state=State.FAILED).exists()
        job.status = Status.FAILED if all_failed else Status.COMPLETED
        job.finished_at = timezone.now()
        job.save(update_fields=["status", "finished_at"])
    logger.info("ingestion_job_ended", job=str(job_id), status=job.status)
