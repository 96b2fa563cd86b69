"""Judges what was seen during a run. Nothing here needs hosts, so that ordinary tests cover it."""

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

# What a client may see before it tries again: nobody is there, or somebody says that the request was not done.
_REFUSED = {"ConnectError", "ConnectTimeout", "RemoteProtocolError", "ReadError", "WriteError", "502", "503"}
# The client has given up waiting for a host that does not answer any more, or its first try still runs.
_UNANSWERED = {"ReadTimeout", "WriteTimeout", "504", "409"}
_EXPECTED_ERRORS = {"403", "404"}  # of those who may not query a data source


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try of a request. `outcome`: the status, or the name of the error. Times in seconds of time.monotonic()."""

    started_at: float
    ended_at: float
    outcome: str

    @property
    def is_answer(self) -> bool:
        return self.outcome.startswith("2") or self.outcome in _EXPECTED_ERRORS


@dataclass(frozen=True, slots=True)
class Request:
    """A request of a client with all its tries. `error`: why the client gave up; empty if it did not."""

    operation: str
    attempts: tuple[Attempt, ...]
    error: str = ""

    @property
    def started_at(self) -> float:
        return self.attempts[0].started_at

    @property
    def ended_at(self) -> float:
        return self.attempts[-1].ended_at


@dataclass
class ClientFigures:
    """What clients saw in a period.

    Attributes:
        retried: Requests that were answered after more than one try.
        unanswered: Tries among these that got no answer in time, instead of a refusal.
        failed: Requests that no try answered, as sentences.
        slowest: Seconds of the slowest request with all its tries.
        last_error: Seconds from the start of the period to the end of the last try that failed.
        details: The requests that were retried, as sentences.
    """

    requests: int = 0
    retried: int = 0
    unanswered: int = 0
    failed: list[str] = field(default_factory=list)
    outcomes: Counter[str] = field(default_factory=Counter)
    slowest: float = 0
    last_error: float = 0
    details: list[str] = field(default_factory=list)


def judge_requests(requests: Iterable[Request], begin: float, end: float) -> ClientFigures:
    """Judge the requests that were sent in the period."""
    figures = ClientFigures()
    for request in requests:
        if not begin <= request.started_at < end:
            continue
        figures.requests += 1
        errors = [attempt for attempt in request.attempts if not attempt.is_answer]
        figures.outcomes.update(attempt.outcome for attempt in errors)
        figures.slowest = max(figures.slowest, request.ended_at - request.started_at)
        figures.last_error = max([figures.last_error, *(attempt.ended_at - begin for attempt in errors)])
        figures.unanswered += sum(attempt.outcome in _UNANSWERED for attempt in errors)
        unknown = [attempt.outcome for attempt in errors if attempt.outcome not in _REFUSED | _UNANSWERED]
        outcomes = " ".join(attempt.outcome for attempt in request.attempts)
        if request.error or unknown:
            figures.failed.append(f"{request.operation}: {outcomes} {request.error}".strip())
        elif errors:
            figures.retried += 1
            figures.details.append(f"{request.operation}: {outcomes}, sent after {request.started_at - begin:.1f} s")
    return figures


@dataclass(frozen=True, slots=True)
class SentTask:
    """A message of a periodic task: when it was sent (seconds), its name, and the host of the scheduler."""

    sent_at: float
    task: str
    host: str


@dataclass
class SchedulerFigures:
    """How periodic tasks were sent.

    Attributes:
        doubled: Tasks that two hosts sent within half of their interval.
        longest_gap: Seconds without a message of the task, at most.
        changes: How often another host sent than before.
    """

    sent: int = 0
    doubled: list[str] = field(default_factory=list)
    longest_gap: float = 0
    changes: int = 0


def judge_scheduler(sent: Sequence[SentTask], task: str, *, interval: float) -> SchedulerFigures:
    """Judge the messages of one periodic task. Two active schedulers would send it twice in each interval."""
    messages = sorted((message for message in sent if message.task == task), key=lambda message: message.sent_at)
    figures = SchedulerFigures(sent=len(messages))
    for before, after in itertools.pairwise(messages):
        gap = after.sent_at - before.sent_at
        figures.longest_gap = max(figures.longest_gap, gap)
        if after.host != before.host:
            figures.changes += 1
            if gap < interval / 2:
                figures.doubled.append(f"{task}: {before.host}, after {gap:.1f} s {after.host}")
    return figures


@dataclass(frozen=True, slots=True)
class Restart:
    """A web server that was asked to stop. Seconds after the signal; None for what did not happen."""

    host: str
    not_ready_after: float | None
    refused_after: float | None

    def is_good(self, drain_seconds: float) -> bool:
        """Return whether health checks failed immediately, and requests were accepted for as long as it drains."""
        if self.not_ready_after is None or self.refused_after is None:
            return False
        return self.not_ready_after < self.refused_after and self.refused_after >= drain_seconds


def longest_pause(moments: Iterable[float], begin: float, end: float) -> float:
    """Return the longest time in the period without one of these moments, in seconds."""
    inside = sorted(moment for moment in moments if begin <= moment <= end)
    edges = [begin, *inside, end]
    return max(after - before for before, after in itertools.pairwise(edges))


@dataclass(frozen=True, slots=True)
class Speed:
    """Documents that a number of workers ingested, and the seconds that it took."""

    workers: int
    documents: int
    seconds: float

    @property
    def per_second(self) -> float:
        return self.documents / self.seconds


def efficiencies(speeds: Sequence[Speed]) -> dict[int, float]:
    """Return how the speed grows: for each number of workers, its speed by the number and the speed of one worker."""
    alone = next(speed.per_second for speed in speeds if speed.workers == 1)
    return {speed.workers: speed.per_second / (speed.workers * alone) for speed in speeds}


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(_cell(value) for value in line) + " |" for line in lines)


def _cell(value: object) -> str:
    return f"{value:.1f}" if isinstance(value, float) else str(value)
