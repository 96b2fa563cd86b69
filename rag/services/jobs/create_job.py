"""Creates ingestion jobs."""

import datetime
import uuid
from collections.abc import Sequence

from django.db import transaction
from django.utils import timezone

from accounts.models import User
from rag.models import DataSource, IngestionDocument, IngestionJob, Original
from rag.pipeline.ingestion import quota, unchanged_content
from rag.services.operations.measurements import measured_documents
from rag.types import ChunkingOptions, IndexOutcome, Submission
from ragsite.postgres import identity
from ragsite.postgres.models import new_revisions
from ragsite.postgres.statements.insert_rows import insert_rows

from . import document_failures
from .close_and_cancel import close_if_finished
from .worker_notifications import notify_workers

State = IngestionDocument.State


@transaction.atomic
def create_job(
    *, source: DataSource, submissions: Sequence[Submission], options: ChunkingOptions, actor: User
) -> IngestionJob:
    """Store a job and its documents, and notify the workers on commit.

    A submission with a `parse_error` becomes a failed document, so that it appears in the job's report. A document that
    is stored exactly as submitted is done at once, unless others write to the source now: then a worker compares it.

    Args:
        source: A source that was found among those that the actor may send documents to.
        submissions: The documents, in the order in which the job lists them.
        options: How the documents are split into chunks.
        actor: The user who sends them.

    Returns:
        The job. It is closed already if no document is left for the workers.

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
    revisions = dict(zip(new_revisions(len(submissions)), submissions, strict=True))
    with identity.write_access():
        outcomes = unchanged_content.keep_identical(revisions, source=source, options=options)
    if outcomes:
        job.status, job.started_at = IngestionJob.Status.PROCESSING, job.created_at
        job.save(update_fields=["status", "started_at"])
    now = timezone.now()
    documents = [
        _build_document(job, index, submission, revision, outcomes.get(revision), now)
        for index, (revision, submission) in enumerate(revisions.items())
    ]
    insert_rows(documents)
    unchanged = [document for document in documents if document.state == State.DONE]
    if unneeded := [document.original_id for document in unchanged if document.original_id]:
        Original.objects.filter(pk__in=unneeded).schedule_purge_check()  # no quota counts them any more
    transaction.on_commit(lambda: measured_documents.record_done(unchanged, {}))
    if failed := [document.pk for document in documents if document.state == State.FAILED]:
        document_failures.record(failed)
    quota.check_quota_of_open_documents(source.organization_id)
    notify_workers(sum(document.state == State.QUEUED for document in documents))
    close_if_finished(job.pk)  # nothing may be left to wait for: all are unchanged, or none can be read
    return job


def _build_document(
    job: IngestionJob,
    index: int,
    submission: Submission,
    revision: uuid.UUID,
    outcome: IndexOutcome | None,
    now: datetime.datetime,
) -> IngestionDocument:
    """Build the job document of a submission: done if it has an outcome, failed if it has a `parse_error`, else queued.

    Its key is the revision, which says which of two submissions is the later one.
    """
    state = State.DONE if outcome else State.FAILED if submission.parse_error else State.QUEUED
    return IngestionDocument(
        id=revision,
        job=job,
        source_id=job.source_id,
        index=index,
        path=submission.path,
        title=submission.title,
        text=submission.text if state == State.QUEUED else "",
        original_id=submission.original_id,
        content_type=submission.content_type,
        uri=submission.uri,
        lang=submission.lang,
        source_type=submission.source_type,
        tags=list(submission.tags),
        date=submission.date,
        metadata=dict(submission.metadata),
        content_hash=submission.content_hash,
        state=state,
        outcome=outcome.status if outcome else "",
        document_id=outcome.document_id if outcome else None,
        chunk_count=outcome.chunk_count if outcome else 0,
        error_code=submission.parse_error_code if submission.parse_error else "",
        error_message=submission.parse_error,
        queued_at=now,
        finished_at=None if state == State.QUEUED else now,
    )
