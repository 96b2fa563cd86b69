"""Ingestion jobs and their documents as a caller sees them: listing and showing."""

import uuid
from collections.abc import Sequence
from typing import Any

from django.db.models import Count, QuerySet
from django.utils.translation import gettext_noop

from orgs.access import organization_resolver
from orgs.access.caller import Caller
from orgs.models import Organization
from rag.errors import UnknownJob
from rag.models import Action, Chunk, DataSource, Document, IngestionDocument, IngestionJob
from rag.models.ingestion.jobs import IngestionDocumentQuerySet
from ragsite.postgres import identity
from ragsite.postgres.base import read_rows

State = IngestionDocument.State
# The chunks of each document are looked up. Where PostgreSQL expects many, it would read the chunks of all documents in
# the order of their keys, and compare each with the job's documents.
_FIRST_CHUNKS = f"""
WITH documents AS MATERIALIZED (
    SELECT DISTINCT document.id FROM {IngestionDocument._meta.db_table} AS submitted
    JOIN {Document._meta.db_table} AS document ON document.id = submitted.document_id
    WHERE submitted.job_id = %s AND submitted.state = 'done' AND document.deleted_at IS NULL
)
SELECT chunk.id FROM documents CROSS JOIN LATERAL (
    SELECT id FROM {Chunk._meta.db_table} WHERE document_id = documents.id ORDER BY id LIMIT %s
) AS chunk
ORDER BY chunk.id LIMIT %s
"""
STARVED_ADVICE = gettext_noop(
    "Start a worker for the queue ingestion. If one runs, read its log, and check the broker on /readyz."
)


def get_job(caller: Caller, job_id: uuid.UUID, *, organization: Organization | None = None) -> IngestionJob:
    """Return a job that the caller may watch, with its progress.

    Args:
        caller: The caller, whose permissions apply.
        job_id: The job.
        organization: The organisation that the request names, if any. Jobs of others are then not found.

    Raises:
        UnknownJob: If there is no such job, or the caller may not watch it.
    """
    jobs = IngestionJob.objects.visible_to(caller, Action.VIEW)
    if organization:
        jobs = jobs.filter(source__organization=organization)
    job: IngestionJob | None = jobs.with_progress().filter(pk=job_id).first()
    if job is None:
        raise UnknownJob
    return job


def list_jobs(
    caller: Caller, *, organization: Organization | None = None, source_reference: str = "", status: str = ""
) -> QuerySet[IngestionJob]:
    """Return the jobs that the caller may watch, newest first.

    Args:
        caller: The caller, whose permissions apply.
        organization: Only jobs of this organisation.
        source_reference: Only jobs of the source with this id or slug; empty for all.
        status: Only jobs with this status; empty for all.
    """
    jobs = IngestionJob.objects.visible_to(caller, Action.VIEW).select_related("source")
    if organization:
        jobs = jobs.filter(source__organization=organization)
    if source_reference:
        sources = DataSource.objects.filter(organization_resolver.match_reference(source_reference))
        jobs = jobs.filter(source__in=sources)
    return jobs.filter(status=status) if status else jobs


def add_progress(jobs: Sequence[IngestionJob]) -> list[IngestionJob]:
    """Read the same jobs again with their progress, in the same order.

    The documents are counted for one page of jobs only, not for every job that the caller may see.
    """
    with_progress = IngestionJob.objects.with_progress().select_related("source")
    jobs_by_id = with_progress.in_bulk([job.pk for job in jobs])
    return [jobs_by_id[job.pk] for job in jobs if job.pk in jobs_by_id]


def list_documents(
    caller: Caller, job_id: uuid.UUID, *, organization: Organization | None = None, status: str = ""
) -> QuerySet[IngestionDocument]:
    """Return the documents of a job with their condition, without their texts and metadata.

    Args:
        caller: The caller, whose permissions apply.
        job_id: The job.
        organization: The organisation that the request names, if any.
        status: Only documents in this state; empty for all.

    Raises:
        UnknownJob: If there is no such job, or the caller may not watch it.
    """
    if not list_jobs(caller, organization=organization).filter(pk=job_id).exists():
        raise UnknownJob
    documents = IngestionDocument.objects.with_condition().filter(job=job_id).order_by("index")
    documents = documents.defer("text", "metadata")
    return documents.filter(state=status) if status else documents


def list_chunk_ids(job: IngestionJob, limit: int) -> list[uuid.UUID]:
    """Return the ids of at most `limit` chunks that the job's documents have now, in the order of their keys."""
    with identity.write_access():
        return [chunk_id for (chunk_id,) in read_rows(_FIRST_CHUNKS, [job.pk, limit, limit])]


def list_failures(job: IngestionJob, limit: int) -> list[IngestionDocument]:
    """Return at most `limit` failed documents of the job: index, path, error_code and error_message only."""
    failed = job.documents.filter(state=State.FAILED).order_by("index")
    return list(failed.only("index", "path", "error_code", "error_message")[:limit])


def list_warnings(job: IngestionJob, limit: int) -> list[IngestionDocument]:
    """Return at most `limit` documents of the job of which something was not read; the fields of `list_failures`."""
    warned = job.documents.filter(state=State.DONE).exclude(error_code="").order_by("index")
    return list(warned.only("index", "path", "error_code", "error_message")[:limit])


def count_failures_by_code(job: IngestionJob) -> dict[str, int]:
    """Return error code → number of failed documents of the job, the most frequent first."""
    failed = job.documents.filter(state=State.FAILED).order_by()
    counts = failed.values_list("error_code").annotate(number=Count("pk"))
    return dict(counts.order_by("-number", "error_code"))


def count_conditions(job: IngestionJob) -> dict[str, int]:
    """Return condition → number of open documents of the job."""
    return count_by_condition(IngestionDocument.objects.filter(job=job, state__in=IngestionDocument.OPEN_STATES))


def count_by_condition(open_documents: IngestionDocumentQuerySet) -> dict[str, int]:
    """Return condition → number of these open documents."""
    conditions: Any = open_documents.with_condition().order_by()
    return dict(conditions.values_list("condition").annotate(Count("pk")))
