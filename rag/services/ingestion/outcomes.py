"""Writes the outcome of a claimed document: indexed, failed, or put back into the queue for another try."""

import contextlib
import datetime
import json
import uuid
from collections.abc import Mapping
from types import MappingProxyType

from django.conf import settings
from django.db import connection
from django.db.models import F
from django.db.models.functions import Greatest
from django.utils import timezone

from rag.errors import EmbeddingFailed, ModelChanged, RagError, StorageFailed
from rag.models import IngestionDocument
from rag.types import IndexOutcome

from . import outages
from .leases import LeaseLost, update_if_leased

State = IngestionDocument.State


def record_success(
    index_outcomes: Mapping[IngestionDocument, IndexOutcome],
    *,
    timings: Mapping[uuid.UUID, Mapping[str, int]] = MappingProxyType({}),
) -> None:
    """Mark the rows as done, inside the transaction that writes their documents' chunks.

    Args:
        index_outcomes: Claimed row → what was written for it.
        timings: Id of a row → stage → milliseconds.

    Raises:
        LeaseLost: If this process no longer holds one of the rows. The caller's transaction must then be rolled back.
    """
    rows = sorted(index_outcomes, key=lambda row: row.pk)  # locked in the order of their keys, against deadlocks
    running = IngestionDocument.objects.filter(pk__in=[row.pk for row in rows], state=State.RUNNING)
    leases = running.order_by("pk").select_for_update().values_list("pk", "lease")
    if list(leases) != [(row.pk, row.lease) for row in rows]:
        raise LeaseLost
    values = [
        (row.pk, outcome.status, outcome.document_id, outcome.chunk_count, json.dumps(timings.get(row.pk, {})))
        for row in rows
        for outcome in [index_outcomes[row]]
    ]
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE rag_ingestiondocument AS row SET state = %s, outcome = done.outcome, "
            "document_id = done.document_id, chunk_count = done.chunk_count, "
            "timings = done.timings::jsonb, "
            "stage = '', text = '', due_at = NULL, error_code = '', error_message = '', finished_at = %s "
            "FROM unnest(%s::uuid[], %s::text[], %s::uuid[], %s::int[], %s::text[]) "
            "AS done (id, outcome, document_id, chunk_count, timings) WHERE row.id = done.id",
            [State.DONE, timezone.now(), *([*column] for column in zip(*values, strict=True))],
        )


def record_error(row: IngestionDocument, error: RagError, *, is_to_blame: bool = False) -> None:
    """Handle an expected error: put the document back into the queue if another try may help, else mark it as failed.

    Args:
        row: The claimed document.
        error: What went wrong.
        is_to_blame: Whether the embedding model answers for other documents at the same time. An error that may come
            from the request then uses up one of the document's attempts.
    """
    if not isinstance(error, EmbeddingFailed):
        outages.release_probe(row.pk)
    failures = row.outages + 1
    match error:
        case ModelChanged():  # the vectors are of the wrong model: embed again
            _requeue(row, error, outages.backoff(1))
        case EmbeddingFailed() if error.may_be_request_fault and (is_to_blame or row.attempts > 1):
            outages.release_probe(row.pk)
            if row.attempts >= settings.RAG_MAX_ATTEMPTS:
                record_failure(row, error.code, error.message)
            else:
                _requeue(row, error, outages.backoff(row.attempts), attempts=row.attempts)
        case EmbeddingFailed() if error.is_retryable and failures < outages.MAX_OUTAGES:
            outages.record_outage(row.job.source.embedding_model_id, document_id=row.pk, retry_after=error.retry_after)
            _requeue(row, error, outages.backoff(failures, retry_after=error.retry_after), outages=failures)
        case StorageFailed() if error.is_retryable and failures < outages.MAX_OUTAGES:
            _requeue(row, error, outages.backoff(failures), outages=failures)
        case _:
            record_failure(row, error.code, error.message)


def _requeue(row: IngestionDocument, error: RagError, pause: datetime.timedelta, **counters: int) -> None:
    """Put the document back into the queue for another try after the pause.

    Unless `counters` has other values, the claim does not count as an attempt: neither document nor worker failed.
    """
    values: dict[str, object] = {
        "state": State.QUEUED,
        "lease": None,
        "due_at": timezone.now() + pause,
        "attempts": Greatest(F("attempts") - 1, 0),
        "stage": "",
        "chunk_count": 0,
        "error_code": error.code,
        "error_message": error.message,
    }
    with contextlib.suppress(LeaseLost):
        update_if_leased(row, **{**values, **counters})


def record_failure(row: IngestionDocument, code: str, message: str) -> None:
    """Mark the document as failed. Its input is kept, so that it can be retried (services.jobs.retries).

    Args:
        row: The claimed document.
        code: An error code, as in rag.errors.
        message: A sentence for the user.
    """
    outages.release_probe(row.pk)
    with contextlib.suppress(LeaseLost):
        update_if_leased(
            row,
            state=State.FAILED,
            error_code=code,
            error_message=message,
            chunk_count=0,
            due_at=None,
            finished_at=timezone.now(),
        )
