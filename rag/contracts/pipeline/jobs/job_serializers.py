"""Ingestion jobs: their progress, and the list of jobs (sub-contract 1; docs/contracts/pipeline.md)."""

import datetime
from typing import Annotated, TypedDict

from rest_framework import serializers

from rag.contracts.common import fields
from rag.models import IngestionJob
from ragsite.http.openapi.field_types import Count, Id

MAX_VECTOR_IDS = 10_000
MAX_ERRORS = 1_000


class Progress(TypedDict):
    documents: Count
    done: Count
    failed: Count


class DocumentError(TypedDict):
    """Why the document at `index` of the submission failed."""

    index: Count
    path: str
    code: str
    message: str


class JobOut(TypedDict):
    jobId: Id
    status: Annotated[str, {"enum": ["queued", "processing", "completed", "failed", "cancelled"]}]
    indexed: Count
    chunks: Count
    vectorIds: list[Id]
    vectorIdsTruncated: bool
    progress: Progress
    errors: list[DocumentError]
    createdAt: datetime.datetime
    startedAt: datetime.datetime | None
    finishedAt: datetime.datetime | None


class JobListIn(serializers.Serializer[None]):
    """The query parameters of the list of jobs."""

    source = fields.Reference("source", required=False)  # type: ignore[assignment]  # the parameter is named as DRF's attribute
    status = fields.Choice("status", choices=IngestionJob.Status.values, required=False)


class JobListed(TypedDict):
    """A job in a list: without its errors and chunk ids."""

    jobId: Id
    dataSourceId: Id
    status: Annotated[str, {"enum": IngestionJob.Status.values}]
    indexed: Count
    chunks: Count
    progress: Progress
    createdAt: datetime.datetime
    startedAt: datetime.datetime | None
    finishedAt: datetime.datetime | None


class JobListOut(TypedDict):
    jobs: list[JobListed]
    page: Count
    pageSize: Count
    total: Count


def listed_job_out(job: IngestionJob) -> JobListed:
    """Render a job of a list. It must come from a queryset with `with_progress()`."""
    return {
        "jobId": str(job.pk),
        "dataSourceId": str(job.source_id),
        "status": job.status,
        "indexed": job.done,
        "chunks": job.chunks,
        "progress": {"documents": job.total, "done": job.done, "failed": job.failed},
        "createdAt": job.created_at,
        "startedAt": job.started_at,
        "finishedAt": job.finished_at,
    }


def job_out(job: IngestionJob, *, vector_ids: list[str], errors: list[DocumentError]) -> JobOut:
    """Render a job.

    Args:
        job: A job of a queryset with `with_progress()`.
        vector_ids: The ids of at most `MAX_VECTOR_IDS + 1` chunks; one more than the limit shows that the list is
            truncated.
        errors: At most `MAX_ERRORS` errors.
    """
    return {
        "jobId": str(job.pk),
        "status": job.status,
        "indexed": job.done,
        "chunks": job.chunks,
        "vectorIds": vector_ids[:MAX_VECTOR_IDS],
        "vectorIdsTruncated": len(vector_ids) > MAX_VECTOR_IDS,
        "progress": {"documents": job.total, "done": job.done, "failed": job.failed},
        "errors": errors,
        "createdAt": job.created_at,
        "startedAt": job.started_at,
        "finishedAt": job.finished_at,
    }
