"""Ingestion jobs: submitted, watched, ended. How their documents are worked on is in `ingestion`."""

import uuid
from collections.abc import Sequence
from typing import Any

import structlog
from django.db import transaction
from django.db.models import Count, QuerySet
from django.utils import timezone

from accounts.models import User
from orgs import organization_resolver
from orgs.models import Organization
from rag import queue
from rag.errors import UnknownJob
from rag.models import Action, Chunk, DataSource, IngestionDocument, IngestionJob
from rag.models.ingestion.jobs import IngestionDocumentQuerySet
from rag.pipeline.ingestion import quota
from rag.types import ChunkingOptions, Submission
from ragsite.postgres import identity

logger = structlog.get_logger(__name__)

State, Status = IngestionDocument.State, IngestionJob.Status
OPEN_STATES = [State.QUEUED, State.RUNNING]
STARVED_ADVICE = (
    "Documents are waiting, and no worker has taken anything for a while: is one running? "
    "See its log, and /readyz for the broker."
)
# Documents a message carries: enough to make its cost small, few enough to share a job among workers.
BATCH = 32


@transaction.atomic
def submit(
    *, source: DataSource, submissions: Sequence[Submission], options: ChunkingOptions, actor: User
) -> IngestionJob:
    """Store the job and its documents, and tell the workers once that is committed.

    Raises IndexFull if the organisation has no room for its bytes, or none for chunks at all, UnknownSource if the
    source was deleted meanwhile.
    """
    source.hold(any_model=True)
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
            source=source,
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
            finished_at=job.created_at if submission.unreadable else None,
        )
        for number, submission in enumerate(submissions)
    ]
    IngestionDocument.objects.bulk_create(rows, batch_size=500)
    quota.require_room_for_open(source.organization_id)
    tell_workers(sum(row.state == State.QUEUED for row in rows))
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


def listed(
    user: User, *, organization: Organization | None = None, source: str = "", status: str = ""
) -> QuerySet[IngestionJob]:
    """The jobs that the user may watch, newest first. source: an id or a slug."""
    jobs = IngestionJob.objects.visible_to(user, Action.VIEW).select_related("source")
    if organization:
        jobs = jobs.filter(source__organization=organization)
    if source:
        jobs = jobs.filter(source__in=DataSource.objects.filter(organization_resolver.by_reference(source)))
    return jobs.filter(status=status) if status else jobs


def with_progress(shown: Sequence[IngestionJob]) -> list[IngestionJob]:
    """The same with their progress: counted for those that are shown, not for all that could be."""
    counted = IngestionJob.objects.with_progress().select_related("source")
    found = counted.in_bulk([job.pk for job in shown])
    return [found[job.pk] for job in shown if job.pk in found]


def documents(
    user: User, job_id: uuid.UUID, *, organization: Organization | None = None, status: str = ""
) -> QuerySet[IngestionDocument]:
    """The job's documents with their condition, without what was sent. Raises UnknownJob."""
    jobs = listed(user, organization=organization)
    if not jobs.filter(pk=job_id).exists():
        raise UnknownJob
    rows = IngestionDocument.objects.with_condition().filter(job=job_id).order_by("index").defer("text", "metadata")
    return rows.filter(state=status) if status else rows


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
    still_open = IngestionDocument.objects.filter(job__in=ids, state__in=OPEN_STATES)
    # In one order, as everybody who locks several.
    rows = list(still_open.order_by("pk").select_for_update().values_list("pk", flat=True))
    open_documents = IngestionDocument.objects.filter(pk__in=rows)
    open_documents.update(state=State.CANCELLED, lease=None, due_at=None, text="", chunk_count=0, finished_at=now)
    cancelled = IngestionJob.objects.filter(pk__in=ids, documents__state=State.CANCELLED)
    cancelled.update(status=Status.CANCELLED, finished_at=now)


def indexed_chunks(job: IngestionJob, limit: int) -> list[uuid.UUID]:
    """The ids of the chunks that this job's documents have now."""
    documents = job.documents.filter(state=State.DONE, document__deleted_at=None).values("document")
    with identity.write_access():
        return list(Chunk.objects.filter(document__in=documents).order_by("pk").values_list("pk", flat=True)[:limit])


def failures(job: IngestionJob, limit: int) -> list[IngestionDocument]:
    """The job's failed documents: index, path, error_code, error_message."""
    failed = job.documents.filter(state=State.FAILED).order_by("index")
    return list(failed.only("index", "path", "error_code", "error_message")[:limit])


def failures_by_code(job: IngestionJob) -> dict[str, int]:
    """How many of its documents failed of what, the most frequent first."""
    failed = job.documents.filter(state=State.FAILED).order_by()
    counted = failed.values_list("error_code").annotate(number=Count("pk"))
    return dict(counted.order_by("-number", "error_code"))


def conditions(job: IngestionJob) -> dict[str, int]:
    """How many of its open documents are in which condition."""
    return counted_by_condition(IngestionDocument.objects.filter(job=job, state__in=OPEN_STATES))


def counted_by_condition(still_open: IngestionDocumentQuerySet) -> dict[str, int]:
    counted: Any = still_open.with_condition().order_by()
    return dict(counted.values_list("condition").annotate(Count("pk")))


def tell_workers(documents: int) -> None:
    """That so many wait. Which ones a worker takes is decided then (leases.claim_next).

    Few go one by one: they may be long, and every worker shall have a part.
    """
    size = max(1, min(BATCH, documents // 16))
    queue.send_all("rag.ingest_documents", [[min(size, documents - start)] for start in range(0, documents, size)])


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
