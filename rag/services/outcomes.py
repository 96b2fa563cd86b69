"""What became of a document of a job, written while the worker holds it."""

import contextlib
import datetime
import random
from collections.abc import Mapping

from django.utils import timezone

from rag.models import IngestionDocument
from rag.types import IndexOutcome

from .leases import LeaseLost, update_held

State = IngestionDocument.State


def finish(row: IngestionDocument, outcome: IndexOutcome, *, timings: Mapping[str, int] | None = None) -> None:
    """timings: stage → milliseconds."""
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
        finished_at=timezone.now(),
    )


def postpone(row: IngestionDocument) -> None:
    """Another try later: 10 s, 20 s, 40 s …, each up to half longer so that rows do not come back all at once."""
    pause = 10 * 2 ** (row.attempts - 1) * random.uniform(1, 1.5)
    due_at = timezone.now() + datetime.timedelta(seconds=pause)
    with contextlib.suppress(LeaseLost):
        update_held(row, state=State.QUEUED, lease=None, due_at=due_at, chunk_count=0)


def fail(row: IngestionDocument, code: str, message: str) -> None:
    values = {"state": State.FAILED, "error_code": code, "error_message": message, "chunk_count": 0, "text": ""}
    with contextlib.suppress(LeaseLost):
        update_held(row, **values, due_at=None, finished_at=timezone.now())
