"""What became of a document of a job, written while the worker holds it."""

import contextlib
from collections.abc import Mapping

from django.conf import settings
from django.db.models import F
from django.db.models.functions import Greatest
from django.utils import timezone

from rag.errors import EmbeddingFailed, ModelChanged, RagError
from rag.models import IngestionDocument
from rag.types import IndexOutcome

from . import outages
from .leases import LeaseLost, update_held

State = IngestionDocument.State


def finish(row: IngestionDocument, outcome: IndexOutcome, *, timings: Mapping[str, int] | None = None) -> None:
    """Inside the transaction that writes the document's chunks. timings: stage → milliseconds. Raises LeaseLost."""
    update_held(
        row,
        state=State.DONE,
        outcome=outcome.status,
        document=outcome.document_id,
        chunk_count=outcome.chunk_count,
        stage="",
        timings=dict(timings or {}),
        text="",
        due_at=None,
        error_code="",
        error_message="",
        finished_at=timezone.now(),
    )


def refuse(row: IngestionDocument, error: RagError) -> None:
    """An error that was to be expected: another try later if it may help, else the document has failed."""
    if isinstance(error, ModelChanged):
        put_back(row)
    elif isinstance(error, EmbeddingFailed) and error.retry and row.outages + 1 < settings.RAG_MAX_OUTAGES:
        postpone(row, error)
    else:
        fail(row, error.code, error.message)


def put_back(row: IngestionDocument) -> None:
    """Another try soon: what it was prepared for is not there any more. That costs no attempt."""
    outages.pass_on(row.pk)
    with contextlib.suppress(LeaseLost):
        soon = timezone.now() + outages.pause(1)
        attempts = Greatest(F("attempts") - 1, 0)
        update_held(row, state=State.QUEUED, lease=None, due_at=soon, attempts=attempts, stage="", chunk_count=0)


def postpone(row: IngestionDocument, error: EmbeddingFailed) -> None:
    """Another try later. It was no fault of the document or its worker, so the attempt is given back."""
    outages.begin(row.job.source.embedding_model_id, document=row.pk, asked=error.retry_after)
    with contextlib.suppress(LeaseLost):
        update_held(
            row,
            state=State.QUEUED,
            lease=None,
            due_at=timezone.now() + outages.pause(row.outages + 1, asked=error.retry_after),
            attempts=Greatest(F("attempts") - 1, 0),
            outages=F("outages") + 1,
            stage="",
            chunk_count=0,
            error_code=error.code,
            error_message=error.message,
        )


def fail(row: IngestionDocument, code: str, message: str) -> None:
    """What was sent of it is kept, so that it can be tried again (jobs.retry)."""
    outages.pass_on(row.pk)
    with contextlib.suppress(LeaseLost):
        update_held(
            row,
            state=State.FAILED,
            error_code=code,
            error_message=message,
            chunk_count=0,
            due_at=None,
            finished_at=timezone.now(),
        )
