"""Creates ingestion jobs."""

import uuid
from collections.abc import Sequence

from django.db import transaction

from accounts.models import User
from rag.models import DataSource, IngestionDocument, IngestionJob
from rag.pipeline.ingestion import quota
from rag.types import ChunkingOptions, Submission
from ragsite.postgres.models import new_revisions
from ragsite.postgres.statements.insert_rows import insert_rows

from .close_and_cancel import close_if_finished
from .worker_notifications import notify_workers

State = IngestionDocument.State


@transaction.atomic
def create_job(
    *, source: DataSource, submissions: Sequence[Submission], options: ChunkingOptions, actor: User
) -> IngestionJob:
    """Store a job and its documents, and notify the workers on commit.

    A submission with a `parse_error` becomes a failed document, so that it appears in the job's report.

    Args:
        source: A source that was found among those that the actor may send documents to.
        submissions: The documents, in the order in which the job lists them.
        options: How the documents are split into chunks.
        actor: The user who sends them.

    Returns:
        The job. It is closed already if no document can be read.

    Raises:
        IndexFull: If the organisation's quota has no room for the bytes, or is used up already.
        UnknownSource: If the source was deleted in the meantime.
    """
    source.lock_for_write(any_model=True)
    quota.check_not_full(source.organization_id)
    job = IngestionJob.objects.create(
        source=source,
        created_by=actor,
        chunk_size=options.size,
        chunk_overlap=options.overlap,
        force_reparse=any(submission.force_reparse for submission in submissions),
    )
    revisions = new_revisions(len(submissions))
    documents = [
        _build_document(job, index, submission, revision)
        for index, (submission, revision) in enumerate(zip(submissions, revisions, strict=True))
    ]
    insert_rows(documents)
    quota.check_quota_of_open_documents(source.organization_id)
    notify_workers(sum(document.state == State.QUEUED for document in documents))
    close_if_finished(job.pk)  # a job of unreadable documents only has nothing to wait for
    return job


def _build_document(job: IngestionJob, index: int, submission: Submission, revision: uuid.UUID) -> IngestionDocument:
    """Build the job document of a submission: queued, or failed if the submission has a `parse_error`.

    Its key is the revision, which says which of two submissions is the later one.
    """
    return IngestionDocument(
        id=revision,
        job=job,
        source_id=job.source_id,
        index=index,
        path=submission.path,
        title=submission.title,
        text="" if submission.parse_error else submission.text,
        original_id=submission.original_id,
        content_type=submission.content_type,
        uri=submission.uri,
        lang=submission.lang,
        source_type=submission.source_type,
        tags=list(submission.tags),
        date=submission.date,
        metadata=dict(submission.metadata),
        content_hash=submission.content_hash,
        state=State.FAILED if submission.parse_error else State.QUEUED,
        error_code=submission.parse_error_code if submission.parse_error else "",
        error_message=submission.parse_error,
        finished_at=job.created_at if submission.parse_error else None,
    )
