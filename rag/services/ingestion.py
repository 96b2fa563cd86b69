"""Documents in: at once, or as a part of a job that workers do."""

import contextlib
import uuid
from collections.abc import Iterator, Sequence

import structlog
from django.conf import settings
from django.db import DatabaseError, InterfaceError, OperationalError, connection, transaction
from django.utils import timezone

from rag.errors import DocumentTooLarge, EmbeddingFailed, RagError, StorageFailed
from rag.models import DataSource, IngestionDocument, IngestionJob
from rag.pipeline import index, ingest, quota
from rag.types import ChunkingOptions, IndexOutcome, Submission
from ragsite.db import uuid7

from . import jobs, outcomes, sources
from .leases import LeaseLost, claim, heartbeat, update_held

logger = structlog.get_logger(__name__)

Status = IngestionJob.Status


def default_options() -> ChunkingOptions:
    return ChunkingOptions(size=settings.RAG_CHUNK_TOKENS, overlap=settings.RAG_CHUNK_OVERLAP)


def ingest_now(*, source: DataSource, submission: Submission) -> IndexOutcome:
    """Ingest one document while the caller waits. A new source is saved with it, or not at all.

    Raises DocumentTooLarge and what the pipeline raises.
    """
    size = len(submission.text.encode())
    if size > settings.RAG_MAX_SYNC_TEXT_BYTES:
        raise DocumentTooLarge(
            f"The text has {size:,} bytes; answered at once are at most {settings.RAG_MAX_SYNC_TEXT_BYTES:,}. "
            "Send it as a job: POST /api/rag/ingest with `documents`."
        )
    revision, options = uuid7(), default_options()
    known = not source._state.adding and index.is_known(submission, source=source)
    if known:
        with transaction.atomic():
            same = index.unchanged(submission, source=source, options=options, revision=revision)
        if same is not None:
            return same
    else:
        quota.refuse_if_full(source.organization_id)
    prepared = ingest.prepare(submission, source=source, options=options, on_batch=lambda done: None)
    with transaction.atomic():
        return index.index(prepared, source=sources.saved(source), revision=revision)


def run(*, ids: Sequence[uuid.UUID]) -> None:
    """A worker's part: each document that is still open is claimed, ingested, and its outcome written."""
    with _without_waiting_for_disk():
        for document_id in ids:
            _run_one(document_id)


def _run_one(document_id: uuid.UUID) -> None:
    row = claim(document_id)
    if row is None:
        return
    if row.job.status == Status.QUEUED:
        queued = IngestionJob.objects.filter(pk=row.job_id, status=Status.QUEUED)
        queued.update(status=Status.PROCESSING, started_at=timezone.now())
    _ingest(row)


@contextlib.contextmanager
def _without_waiting_for_disk() -> Iterator[None]:
    """A commit does not wait until it is on disk. What a crash of the server takes back is work that is done again:
    a document's chunks and its outcome are one transaction."""
    with connection.cursor() as cursor:
        cursor.execute("SET synchronous_commit = off")
    try:
        yield
    finally:
        with contextlib.suppress(DatabaseError), connection.cursor() as cursor:
            cursor.execute("RESET synchronous_commit")


def _ingest(row: IngestionDocument) -> None:
    try:
        with heartbeat(row):
            _ingest_held(row)
    except LeaseLost:
        logger.warning("ingestion_lease_lost", document=str(row.pk), job=str(row.job_id))
    except (OperationalError, InterfaceError):
        # The database went away, not the document: the lease ends by itself, and the sweep brings the row back.
        logger.exception("ingestion_interrupted", document=str(row.pk), job=str(row.job_id))
        connection.close()
        return
    except RagError as error:
        passing = isinstance(error, EmbeddingFailed | StorageFailed) and error.retry
        again = passing and row.attempts < settings.RAG_MAX_ATTEMPTS
        cause = type(error.__cause__).__name__ if error.__cause__ else ""
        logger.warning("ingestion_failed", document=str(row.pk), code=error.code, cause=cause, again=again)
        if again:
            outcomes.postpone(row)
        else:
            outcomes.fail(row, error.code, error.message)
    except Exception:
        logger.exception("ingestion_errored", document=str(row.pk), job=str(row.job_id))
        outcomes.fail(row, "INTERNAL_ERROR", "An unexpected error; the log has it under this document's id.")
    jobs.close(row.job_id)


def _ingest_held(row: IngestionDocument) -> None:
    """The outcome is written in the transaction that writes the chunks, so that either both happened or neither."""
    source, submission = row.job.source, _submission(row)
    options = ChunkingOptions(row.job.chunk_size, row.job.chunk_overlap)
    if index.is_known(submission, source=source):
        with transaction.atomic():
            outcome = index.unchanged(submission, source=source, options=options, revision=row.pk)
            if outcome is not None:
                outcomes.finish(row, outcome)
                return
    prepared = ingest.prepare(
        submission, source=source, options=options, on_batch=lambda done: update_held(row, chunk_count=done)
    )
    with transaction.atomic():
        outcomes.finish(row, index.index(prepared, source=source, revision=row.pk))


def _submission(row: IngestionDocument) -> Submission:
    return Submission(
        path=row.path,
        title=row.title,
        text=row.text,
        content_type=row.content_type,
        uri=row.uri,
        lang=row.lang,
        source_type=row.source_type,
        tags=tuple(row.tags),
        date=row.date,
        metadata=row.metadata,
        content_hash=row.content_hash,
        original_id=row.original_id,
        again=row.job.again,
    )
