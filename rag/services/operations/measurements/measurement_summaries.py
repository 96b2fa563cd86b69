"""Reads the measurements: rates, failures and percentiles, in total and over time."""

import datetime
import uuid
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from django.utils import timezone

from rag.models import Measurement
from ragsite.observability.measurement_buffer import BOUNDS_MS, EVERYBODY

# Name of a measurement → the start of each hour, with the measurements in it.
Hourly = Callable[[str], list[tuple[datetime.datetime, "Summary"]]]
HOUR, DAY = datetime.timedelta(hours=1), datetime.timedelta(days=1)
# How many hours a history has.
_HOURS = 24
# The period of the totals of all time.
ALL_TIME = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
# How many models have series of their own.
_MAX_NAMES = 100
_EMPTY = (0,) * (len(BOUNDS_MS) + 1)


@dataclass(frozen=True, slots=True)
class Summary:
    """Measurements of one kind of work, added up.

    Attributes:
        histogram: How many durations fell into each bucket; BOUNDS_MS has the upper bounds of all but the last one.
    """

    name: str
    count: int = 0
    failures: int = 0
    milliseconds: float = 0.0
    histogram: Sequence[int] = _EMPTY

    @property
    def p50(self) -> float | None:
        """The median duration in milliseconds; None without measurements."""
        return percentile(self.histogram, 0.5)

    @property
    def p95(self) -> float | None:
        """The duration in milliseconds that 95 % do not exceed; None without measurements."""
        return percentile(self.histogram, 0.95)

    @property
    def failure_share(self) -> float | None:
        """The share that failed, 0 to 1; None without measurements."""
        return self.failures / self.count if self.count else None


def percentile(histogram: Sequence[int], share: float) -> float | None:
    """Estimate a percentile in milliseconds: exact to its bucket, interpolated within; None without measurements.

    A duration above the last bound counts as that bound.
    """
    rank, passed = share * sum(histogram), 0
    if not rank:
        return None
    for low, high, count in zip((0, *BOUNDS_MS), (*BOUNDS_MS, BOUNDS_MS[-1]), histogram, strict=True):
        if passed + count >= rank:
            return low + (high - low) * (rank - passed) / count
        passed += count
    return float(BOUNDS_MS[-1])


def summarize(kind: str, *, organizations: Collection[uuid.UUID] = (EVERYBODY,)) -> list[Summary]:
    """Return the measurements of one kind in the last hour, by name.

    Args:
        kind: The kind, as in ragsite.observability.measurement_buffer.
        organizations: Of which organisations; the whole installation by default.
    """
    rows = defaultdict(list)
    for row in _rows(kind, HOUR, organizations):
        rows[row.name].append(row)
    return [_add_up(name, rows[name]) for name in sorted(rows)]


def summarize_all_time(kind: str) -> list[Summary]:
    """Return the measurements of one kind since the installation began, by name: they never fall."""
    rows = Measurement.objects.filter(organization=EVERYBODY, period=ALL_TIME, kind=kind).order_by("name")
    return [_add_up(row.name, [row]) for row in rows[:_MAX_NAMES]]


def summarize_by_hour(kind: str, *, organizations: Collection[uuid.UUID] = (EVERYBODY,)) -> Hourly:
    """Return the measurements of one kind in each of the last 24 hours, oldest first.

    Returns:
        A function: name → start of each hour, with the measurements of this name in it.
    """
    first = timezone.now().replace(minute=0, second=0, microsecond=0) - (_HOURS - 1) * HOUR
    rows = defaultdict(list)
    for row in _rows(kind, timezone.now() - first, organizations):
        rows[row.name, row.period.replace(minute=0)].append(row)
    starts = [first + hour * HOUR for hour in range(_HOURS)]
    return lambda name: [(start, _add_up(name, rows[name, start])) for start in starts]


def _rows(kind: str, since: datetime.timedelta, organizations: Collection[uuid.UUID]) -> Iterable[Measurement]:
    """Return the rows of at most one day and a few hundred names, so that their number does not grow with the data."""
    return Measurement.objects.filter(
        organization__in=list(organizations), period__gte=timezone.now() - since, kind=kind
    ).only("name", "period", "count", "failures", "milliseconds", "histogram")


def _add_up(name: str, rows: Sequence[Measurement]) -> Summary:
    if not rows:
        return Summary(name)
    return Summary(
        name,
        sum(row.count for row in rows),
        sum(row.failures for row in rows),
        sum(row.milliseconds for row in rows),
        tuple(sum(column) for column in zip(*(row.histogram for row in rows), strict=True)),
    )
