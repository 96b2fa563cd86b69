"""Counts durations and failures in memory. Another thread, or the end of a task, stores them.

Nothing here waits: a measured request pays for a lock and an addition. What a killed process has not stored is lost.
"""

import contextlib
import datetime
import os
import threading
import time
import uuid
from bisect import bisect_left
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field

from opentelemetry.trace import Span, SpanKind

from . import tracing

# The upper bounds of a histogram's buckets, in milliseconds. The last bucket has no bound.
BOUNDS_MS = (5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000)
PERIOD_SECONDS = 300
# Stands for the whole installation.
EVERYBODY = uuid.UUID(int=0)
# How many different rows, slow operations and errors a process keeps until it stores them.
_MAX_ROWS, _MAX_NOTES = 2_000, 20

# Stage → milliseconds, of the operation that the current code belongs to.
_stages: ContextVar[dict[str, float] | None] = ContextVar("stages", default=None)


@dataclass(frozen=True, slots=True, order=True)
class Key:
    """What was measured, in which period and for whom.

    Attributes:
        period: The start of the period, in seconds since 1970.
        kind: `operation`, `query_stage`, `document_stage`, `model` or `ocr_page`.
        organization: The organisation; EVERYBODY for the whole installation.
    """

    period: int
    kind: str
    name: str
    organization: uuid.UUID


@dataclass(slots=True)
class Totals:
    """The sums of one key."""

    count: int = 0
    failures: int = 0
    milliseconds: float = 0.0
    histogram: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS_MS) + 1))

    def add(self, milliseconds: float, *, failed: bool) -> None:
        self.count += 1
        self.failures += failed
        self.milliseconds += milliseconds
        self.histogram[bisect_left(BOUNDS_MS, milliseconds)] += 1


@dataclass(frozen=True, slots=True)
class Slow:
    """One of the slowest operations of a process since it stored its measurements.

    Attributes:
        kind: `query` or `document`.
        document: The job document (IngestionDocument); None for a query.
        stages: Stage → milliseconds.
    """

    at: datetime.datetime
    kind: str
    milliseconds: float
    stages: dict[str, float]
    organization: uuid.UUID | None
    document: uuid.UUID | None
    request_id: str


@dataclass(frozen=True, slots=True)
class Error:
    """An error in the log, without its message, which may quote a text."""

    at: datetime.datetime
    event: str
    exception: str
    request_id: str
    task: str


@dataclass(slots=True)
class Pending:
    """What was measured and is not stored yet."""

    totals: dict[Key, Totals] = field(default_factory=dict)
    slow: list[Slow] = field(default_factory=list)
    errors: list[Error] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.totals or self.slow or self.errors)


_lock = threading.Lock()
_pending = Pending()


def _reset_after_fork() -> None:
    """Start empty in a forked process: the lock may be held, and the measurements are those of its parent."""
    global _lock, _pending
    _lock, _pending = threading.Lock(), Pending()


os.register_at_fork(after_in_child=_reset_after_fork)


def record(
    kind: str, name: str, milliseconds: float, *, failed: bool = False, organizations: tuple[uuid.UUID, ...] = ()
) -> None:
    """Add a duration to the current period, for the installation and for each of these organisations."""
    period = int(time.time()) // PERIOD_SECONDS * PERIOD_SECONDS
    with _lock:
        for organization in (EVERYBODY, *organizations):
            key = Key(period, kind, name, organization)
            if key in _pending.totals or len(_pending.totals) < _MAX_ROWS:
                _pending.totals.setdefault(key, Totals()).add(milliseconds, failed=failed)


def record_slow(slow: Slow) -> None:
    """Keep the operation if it is among the slowest since the last time that measurements were stored."""
    with _lock:
        _pending.slow.append(slow)
        if len(_pending.slow) > _MAX_NOTES:
            _pending.slow.remove(min(_pending.slow, key=lambda entry: entry.milliseconds))


def record_error(error: Error) -> None:
    """Keep the error, unless too many wait to be stored."""
    with _lock:
        if len(_pending.errors) < _MAX_NOTES:
            _pending.errors.append(error)


def take() -> Pending:
    """Return what was measured since the last call."""
    global _pending
    with _lock:
        taken, _pending = _pending, Pending()
    return taken


@contextlib.contextmanager
def measure(
    kind: str, name: str, *, span_name: str = "", span_kind: SpanKind = SpanKind.INTERNAL, **attributes: str
) -> Iterator[Span | None]:
    """Record how long the block takes, and whether it raises. It is also a span, if traces are on.

    Args:
        kind: The kind of measurement.
        name: What is measured.
        span_name: The name of the span; empty for `name`.
        span_kind: Which side of a call it is.
        **attributes: Attributes of the span, with `__` for dots.
    """
    started, failed = time.perf_counter(), True
    try:
        with tracing.span(span_name or name, span_kind, ragsite__kind=kind, **attributes) as span:
            yield span
        failed = False
    except GeneratorExit:  # a reader left; nothing failed
        failed = False
        raise
    finally:
        milliseconds = (time.perf_counter() - started) * 1000
        record(kind, name, milliseconds, failed=failed)
        if (stages := _stages.get()) is not None:
            stages[name] = round(stages.get(name, 0) + milliseconds, 1)


def start_operation() -> dict[str, float]:
    """Collect the stages from here on. Returns the dict that they are added to.

    Ended by `end_operation`, not by a context manager: an answer is a generator, which may be closed elsewhere.
    """
    stages: dict[str, float] = {}
    _stages.set(stages)
    return stages


def end_operation() -> None:
    _stages.set(None)
