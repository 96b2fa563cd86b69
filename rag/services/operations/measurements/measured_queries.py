"""Measures questions: how long they take, whether they fail, whether their answers are grounded."""

import contextlib
import time
from collections.abc import Iterator, Sequence

from django.utils import timezone

from rag.errors import ErrorKind, RagError
from rag.types import SearchScope
from ragsite.http.request_id import request_id
from ragsite.observability import measurement_buffer


class MeasuredQuery:
    """A question in progress.

    Attributes:
        scopes: What it searches, as soon as that is known.
        is_grounded: Whether its answer has citations; None for a search, or before the answer is complete.
        milliseconds: How long it took, as soon as it has ended.
        stages: Stage → its duration in milliseconds.
    """

    def __init__(self) -> None:
        self.scopes: Sequence[SearchScope] = ()
        self.is_grounded: bool | None = None
        self.milliseconds = 0.0
        self.stages: dict[str, float] = {}

    @contextlib.contextmanager
    def measured(self) -> Iterator[None]:
        """Record how long the block takes. The time of an answer includes the time in which its client reads it."""
        self.stages = stages = measurement_buffer.start_operation()
        started, failed = time.perf_counter(), True
        try:
            yield
            failed = False
        except RagError as error:
            failed = error.kind == ErrorKind.UNAVAILABLE  # other errors are the caller's
            raise
        except GeneratorExit:  # the client left
            failed = False
            raise
        finally:
            measurement_buffer.end_operation()
            self.milliseconds = (time.perf_counter() - started) * 1000
            self._record(self.milliseconds, stages, failed=failed)

    def _record(self, milliseconds: float, stages: dict[str, float], *, failed: bool) -> None:
        organizations = tuple(dict.fromkeys(key for scope in self.scopes for key in scope.organization_ids))
        measurement_buffer.record("operation", "query", milliseconds, failed=failed, organizations=organizations)
        if self.is_grounded is not None:
            is_declined = not self.is_grounded
            measurement_buffer.record(
                "operation", "answer", milliseconds, failed=is_declined, organizations=organizations
            )
        measurement_buffer.record_slow(
            measurement_buffer.Slow(
                at=timezone.now(),
                kind="query",
                milliseconds=milliseconds,
                stages=stages,
                organization=organizations[0] if len(organizations) == 1 else None,
                document=None,
                request_id=request_id(),
            )
        )
