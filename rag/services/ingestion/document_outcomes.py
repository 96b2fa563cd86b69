"""Writes the outcome of a claimed document: indexed, failed, or put back into the queue for another try."""

import contextlib
import datetime
import json
import uuid
from collections.abc import Mapping
from types import MappingProxyType

from django.conf import settings
from django.db import connection, transaction
from django.db.models import F
from django.db.models.functions import Greatest
from django.utils import timezone

from rag.errors import EmbeddingFailed, ModelChanged, RagError, StorageFailed
from rag.models import IngestionDocument
from rag.services.jobs import document_failures
from rag.services.operations.measurements import measured_documents
from rag.types import IndexOutcome
from ragsite.postgres.models import database_now

from .parsing_warnings import PAGES_NOT_READ
from .queue import embedding_outages
from .queue.leases import LeaseEnded, update_if_leased

State = IngestionDocument.State


def record_success(
    index_outcomes: Mapping[IngestionDocument, IndexOutcome],
    *,
    timings: Mapping[uuid.UUID, Mapping[str, int]] = MappingProxyType({}),
    warnings: Mapping[uuid.UUID, str] = MappingProxyType({}),
) -> None:
    """Mark the claimed documents as done, inside the transaction that writes their documents' chunks.

    Args:
        index_outcomes: Claimed document → the outcome of indexing it.
        timings: Id of a claimed document → stage → milliseconds.
        warnings: Id of a claimed document → what of it was not read, a sentence.

    Raises:
        LeaseEnded: If this process no longer holds one of the documents. The current transaction must be rolled back.
    """
    documents = list(index_outcomes)
    values = [
        (
            document.pk,
            document.lease,
            outcome.status,
            outcome.document_id,
            outcome.chunk_count,
            json.dumps(timings.get(document.pk, {})),
            PAGES_NOT_READ if warnings.get(document.pk) else "",
            warnings.get(document.pk, ""),
        )
        for document in documents
        for outcome in [index_outcomes[document]]
    ]
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE rag_ingestiondocument AS document SET state = %s, outcome = done.outcome, "
            "document_id = done.document_id, chunk_count = done.chunk_count, "
            "timings = done.timings::jsonb, "
            "stage = '', text = '', due_at = NULL, error_code = done.error_code, "
            "error_message = done.error_message, finished_at = %s "
            "FROM unnest(%s::uuid[], %s::uuid[], %s::text[], %s::uuid[], %s::int[], %s::text[], %s::text[], "
            "%s::text[]) AS done (id, lease, outcome, document_id, chunk_count, timings, error_code, error_message) "
            # Locked in the order of their keys, against deadlocks.
            "JOIN (SELECT id FROM rag_ingestiondocument WHERE id = ANY(%s) ORDER BY id FOR UPDATE) AS locked "
            "USING (id) WHERE document.id = done.id AND document.state = %s AND document.lease = done.lease",
            [
                State.DONE,
                timezone.now(),
                *([*column] for column in zip(*values, strict=True)),
                [document.pk for document in documents],
                State.RUNNING,
            ],
        )
        if cursor.rowcount != len(documents):
            raise LeaseEnded
    transaction.on_commit(lambda: measured_documents.record_done(documents, timings))


def record_error(document: IngestionDocument, error: RagError, *, is_to_blame: bool = False) -> None:
    """Handle an expected error: put the document back into the queue if another try may help, else mark it as failed.

    Args:
        document: The claimed document.
        error: The error.
        is_to_blame: Whether the embedding model answers for other documents at the same time. An error that may come
            from the request then uses up one of the document's attempts.
    """
    if not isinstance(error, EmbeddingFailed):
        embedding_outages.release_probe(document.pk)
    failures = document.outages + 1
    match error:
        case ModelChanged():  # the vectors are of the wrong model: embed again
            _requeue(document, error, embedding_outages.pause_after(1))
        case EmbeddingFailed() if error.may_be_request_fault and (is_to_blame or document.attempts > 1):
            embedding_outages.release_probe(document.pk)
            if document.attempts >= settings.RAG_MAX_ATTEMPTS:
                record_failure(document, error.code, error.message)
            else:
                _requeue(document, error, embedding_outages.pause_after(document.attempts), attempts=document.attempts)
        case EmbeddingFailed() if error.is_retryable and failures < embedding_outages.MAX_OUTAGES:
            embedding_outages.record_outage(
                document.job.source.embedding_model_id,
                document_id=document.pk,
                retry_after_seconds=error.retry_after_seconds,
            )
            _requeue(
                document,
                error,
                embedding_outages.pause_after(failures, retry_after_seconds=error.retry_after_seconds),
                outages=failures,
            )
        case StorageFailed() if error.is_retryable and failures < embedding_outages.MAX_OUTAGES:
            _requeue(document, error, embedding_outages.pause_after(failures), outages=failures)
        case _:
            record_failure(document, error.code, error.message)


def _requeue(document: IngestionDocument, error: RagError, pause: datetime.timedelta, **counters: int) -> None:
    """Put the document back into the queue for another try after the pause.

    Unless `counters` has other values, the claim does not count as an attempt: neither document nor worker failed.
    """
    values: dict[str, object] = {
        "state": State.QUEUED,
        "lease": None,
        "due_at": database_now() + pause,
        "attempts": Greatest(F("attempts") - 1, 0),
        "stage": "",
        "chunk_count": 0,
        "error_code": error.code,
        "error_message": error.message,
    }
    with contextlib.suppress(LeaseEnded):
        update_if_leased(document, **{**values, **counters})


def record_failure(document: IngestionDocument, code: str, message: str) -> None:
    """Mark the document as failed. Its input is kept, so that it can be retried (rag.services.jobs.manual_retries).

    Args:
        document: The claimed document.
        code: An error code, as in rag.errors.
        message: A sentence for the user.
    """
    embedding_outages.release_probe(document.pk)
    with contextlib.suppress(LeaseEnded), transaction.atomic():
        update_if_leased(
            document,
            state=State.FAILED,
            error_code=code,
            error_message=message,
            chunk_count=0,
            due_at=None,
            finished_at=timezone.now(),
        )
        document_failures.record([document.pk])
