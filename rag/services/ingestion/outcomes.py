"""What became of a document of a job, written while the worker holds it."""

import contextlib
import datetime
import json
import uuid
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.models import F
from django.db.models.functions import Greatest
from django.utils import timezone

from rag.errors import EmbeddingFailed, ModelChanged, RagError, StorageFailed
from rag.models import IngestionDocument
from rag.types import IndexOutcome

from . import outages
from .leases import LeaseLost, update_held

State = IngestionDocument.State


def finish(
    done: Mapping[IngestionDocument, IndexOutcome],
    *,
    timings: Mapping[uuid.UUID, Mapping[str, int]] = MappingProxyType({}),
) -> None:
    """Inside the transaction that writes the documents' chunks. timings: of a row, stage → milliseconds.

    Raises LeaseLost if one of the rows is no longer ours.
    """
    rows = sorted(done, key=lambda row: row.pk)  # locked in one order, as everybody does who locks several
    running = IngestionDocument.objects.filter(pk__in=[row.pk for row in rows], state=State.RUNNING)
    leases = running.order_by("pk").select_for_update().values_list("pk", "lease")
    if list(leases) != [(row.pk, row.lease) for row in rows]:
        raise LeaseLost
    values = [
        (row.pk, done[row].status, done[row].document_id, done[row].chunk_count, json.dumps(timings.get(row.pk, {})))
        for row in rows
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


def refuse(row: IngestionDocument, error: RagError, *, blamed: bool = False) -> None:
    """An error that was to be expected: another try later if it may help, else the document has failed.

    blamed: the embedding model embeds others at the same time. Then it costs the document an attempt.
    """
    if not isinstance(error, EmbeddingFailed):
        outages.pass_on(row.pk)
    tries = row.outages + 1
    match error:
        case ModelChanged():  # its vectors are of no use any more
            _put_back(row, error, outages.pause(1))
        case EmbeddingFailed() if error.of_request and (blamed or row.attempts > 1):
            outages.pass_on(row.pk)
            if row.attempts >= settings.RAG_MAX_ATTEMPTS:
                fail(row, error.code, error.message)
            else:
                _put_back(row, error, outages.pause(row.attempts), attempts=row.attempts)
        case EmbeddingFailed() if error.retry and tries < settings.RAG_MAX_OUTAGES:
            outages.begin(row.job.source.embedding_model_id, document=row.pk, asked=error.retry_after)
            _put_back(row, error, outages.pause(tries, asked=error.retry_after), outages=tries)
        case StorageFailed() if error.retry and tries < settings.RAG_MAX_OUTAGES:
            _put_back(row, error, outages.pause(tries), outages=tries)
        case _:
            fail(row, error.code, error.message)


def _put_back(row: IngestionDocument, error: RagError, pause: datetime.timedelta, **values: int) -> None:
    """Another try later. Unless said otherwise the attempt is given back: it was no fault of document or worker."""
    waiting: dict[str, Any] = {
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
        update_held(row, **{**waiting, **values})


def fail(row: IngestionDocument, code: str, message: str) -> None:
    """What was sent of it is kept, so that it can be tried again (retries.retry)."""
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
