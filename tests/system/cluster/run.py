"""Sends steady traffic, injects every fault into it, and compares the result with an undisturbed run."""

import os
import threading
import time
from dataclasses import dataclass, field
from typing import Self

import psycopg
from django.conf import settings
from django.db import connection

from rag.models import IngestionDocument, IngestionJob
from tests.system.chaos import snapshots
from tests.system.chaos.embedding_endpoint import Endpoint

from .faults import Fault, Faults
from .hosts.installation import DRAIN_SECONDS, Installation
from .load.people import SOURCE, UNDISTURBED, People, create_people
from .load.traffic import Traffic
from .schedules import WATCHED_TASK, ScheduleWatch
from .verdict import ClientFigures, SentTask, judge_requests, judge_scheduler, longest_pause, table

_SENDERS, _READERS = 3, 2
_CALM_SECONDS, _SETTLE_SECONDS = 15, 6
# Within this time everything must work again, and all jobs must end.
_MAX_RECOVERY_SECONDS, _MAX_JOB_SECONDS = 90, 240
# The lease of a scheduler, its renewal and the interval of the task that is watched, and what a start takes.
_MAX_SCHEDULER_GAP_SECONDS = 60
_COUNT_DONE = "SELECT count(*) FROM rag_ingestiondocument WHERE state = 'done'"


@dataclass
class Outcome:
    """What one fault did. Times in seconds; `recovered_after` is None if no document was finished afterwards."""

    fault: Fault
    clients: ClientFigures
    ingestion_pause: float
    scheduler_gap: float
    recovered_after: float | None
    broken: list[str] = field(default_factory=list)


class Progress:
    """Records when documents were finished, by the clock of this process."""

    def __init__(self) -> None:
        self.moments: list[float] = []
        self._finished = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._finished.set()
        self._thread.join()

    def _watch(self) -> None:
        before = 0
        with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as database:
            while not self._finished.wait(0.2):
                row = database.execute(_COUNT_DONE).fetchone()
                if row and row[0] > before:
                    before = row[0]
                    self.moments.append(time.monotonic())


def run_faults(installation: Installation, endpoint: Endpoint) -> bool:
    """Run all faults, print the figures, and return whether every promise was kept."""
    endpoint.latency = 0.2
    people = create_people(senders=_SENDERS, readers=_READERS, embeddings_url=endpoint.base_url)
    with (
        ScheduleWatch(os.environ["REDIS_URL"]) as watch,
        Progress() as progress,
        Traffic(installation.base_url, installation.trust, people) as traffic,
    ):
        started_at = time.monotonic()
        time.sleep(_CALM_SECONDS)
        installation.wait_until(
            lambda: traffic.seen.successes > 10, "no client finds anything", seconds=_MAX_RECOVERY_SECONDS
        )
        faults = Faults(installation, watch)
        outcomes = [
            Outcome(Fault("none", lambda: None, is_seen=False), *_figures(traffic, progress, watch, started_at), 0.0)
        ]
        for number, fault in enumerate(faults.all()):
            if number == 4:
                traffic.leave()
            outcomes.append(_inject(fault, traffic, progress, watch))
            print(f"{fault.name}: recovered after {outcomes[-1].recovered_after}, {outcomes[-1].broken}", flush=True)
        had_dead_client = traffic.is_dead
    broken = [sentence for outcome in outcomes for sentence in outcome.broken]
    broken += ["a client ended with an exception"] if had_dead_client else []
    broken += [f"leak: {leak}" for leak in traffic.seen.leaks]
    broken += [f"not found: {path}" for path in traffic.seen.missing]
    for restart in faults.restarts:
        print(
            f"{restart.host} stopped: not ready after {restart.not_ready_after}, refused after {restart.refused_after}"
        )
        broken += [] if restart.is_good(DRAIN_SECONDS) else [f"{restart.host} did not drain"]
    broken += _judge_schedulers(watch.sent)
    broken += [f"the watch of the schedulers ended: {watch.failure}"] if watch.failure else []
    broken += _compare(installation, traffic, people, endpoint)
    _print(outcomes, traffic)
    for sentence in broken[:30]:
        print(f"BROKEN: {sentence}")
    return not broken


def _inject(fault: Fault, traffic: Traffic, progress: Progress, watch: ScheduleWatch) -> Outcome:
    begin = time.monotonic()
    fault.inject()
    end, recovered_after = time.monotonic(), None
    while time.monotonic() < end + _MAX_RECOVERY_SECONDS:
        if later := [moment for moment in list(progress.moments) if moment > end]:
            recovered_after = later[0] - end
            break
        time.sleep(0.1)
    time.sleep(_SETTLE_SECONDS)
    clients, pause, gap = _figures(traffic, progress, watch, begin)
    outcome = Outcome(fault, clients, pause, gap, recovered_after)
    outcome.broken += [f"{fault.name}: {sentence}" for sentence in clients.failed]
    if recovered_after is None:
        outcome.broken.append(f"{fault.name}: no document was finished within {_MAX_RECOVERY_SECONDS} s")
    if clients.retried and not fault.is_seen:
        outcome.broken.append(f"{fault.name}: clients saw {clients.details}")
    return outcome


def _figures(
    traffic: Traffic, progress: Progress, watch: ScheduleWatch, begin: float
) -> tuple[ClientFigures, float, float]:
    """Return what happened since this moment: what clients saw, the longest pause of ingestion and of the scheduler."""
    end = time.monotonic()
    sent = [message.sent_at for message in list(watch.sent) if message.task == WATCHED_TASK]
    interval = float(settings.RAG_SWEEP_INTERVAL_SECONDS)
    gap = max(0.0, longest_pause(sent, begin, end) - interval)
    clients = judge_requests(list(traffic.seen.requests), begin, end)
    return clients, longest_pause(list(progress.moments), begin, end), gap


def _judge_schedulers(sent: list[SentTask]) -> list[str]:
    interval = float(settings.RAG_SWEEP_INTERVAL_SECONDS)
    figures = judge_scheduler(sent, WATCHED_TASK, interval=interval)
    print(
        f"schedulers: {figures.sent} messages of {WATCHED_TASK}, {len(figures.doubled)} doubled, {figures.changes} "
        f"changes of the active one, none for {figures.longest_gap:.0f} s at most (interval {interval:.0f} s)"
    )
    too_long = figures.longest_gap > _MAX_SCHEDULER_GAP_SECONDS
    return figures.doubled + ([f"no scheduler for {figures.longest_gap:.0f} s"] if too_long else [])


def _compare(installation: Installation, traffic: Traffic, people: People, endpoint: Endpoint) -> list[str]:
    """Wait for all jobs, send the same documents to a source in peace, and compare what is stored."""
    connection.close()
    open_jobs = IngestionJob.objects.filter(finished_at=None)
    installation.wait_until(lambda: not open_jobs.exists(), "jobs did not end", seconds=_MAX_JOB_SECONDS)
    endpoint.latency = 0
    seen, source = traffic.seen, people.sources[SOURCE]
    with traffic.client(people.senders[0]) as client:
        final = [versions[-1] for versions in seen.versions.values()]
        for start in range(0, len(final), 200):
            client.ingest(UNDISTURBED, final[start : start + 200])
    installation.wait_until(lambda: not open_jobs.exists(), "jobs did not end", seconds=_MAX_JOB_SECONDS)
    with snapshots.connect() as database:
        stored, expected = (
            snapshots.stored_documents(database, people.sources[slug].pk) for slug in (SOURCE, UNDISTURBED)
        )
        sizes = [snapshots.rows(database, people.sources[slug].pk) for slug in (SOURCE, UNDISTURBED)]
    surplus = sum(max(0, count - expected_count) for count, expected_count in zip(*sizes, strict=True))
    verdict = snapshots.compare(stored, expected, surplus)
    versions = sum(map(len, seen.versions.values()))
    jobs = IngestionJob.objects.filter(source=source).count()
    rows = IngestionDocument.objects.filter(job__source=source)
    not_done = rows.exclude(state=IngestionDocument.State.DONE).count()
    print(
        f"documents: {versions} versions of {len(seen.versions)} documents sent in {seen.jobs} jobs; stored: {jobs} "
        f"jobs, {rows.count()} versions, {not_done} not done, {rows.filter(attempts__gt=1).count()} tried again; "
        f"{len(verdict.lost)} lost, {len(verdict.doubled)} doubled, {len(verdict.different)} different, "
        f"{verdict.surplus_rows} surplus rows, compared with an undisturbed run"
    )
    broken = [
        f"{name}: {', '.join(paths[:5])}" for name, paths in vars(verdict).items() if isinstance(paths, list) and paths
    ]
    broken += [f"{verdict.surplus_rows} surplus rows"] if verdict.surplus_rows else []
    broken += [f"{not_done} documents are not done"] if not_done else []
    # A request whose process was lost is run again with the same documents, which are found unchanged.
    broken += [f"{jobs} jobs instead of {seen.jobs}"] if jobs < seen.jobs else []
    broken += [f"{rows.count()} versions instead of {versions}"] if rows.count() < versions else []
    return broken


def _print(outcomes: list[Outcome], traffic: Traffic) -> None:
    header = ("fault", "requests", "retried", "without an answer", "failed", "slowest request, s", "last error, s",
              "longest pause of ingestion, s", "next document after the end, s", "without a scheduler, s")  # fmt: skip
    rows = [
        (
            outcome.fault.name,
            outcome.clients.requests,
            outcome.clients.retried,
            outcome.clients.unanswered,
            len(outcome.clients.failed),
            outcome.clients.slowest,
            outcome.clients.last_error,
            outcome.ingestion_pause,
            "never" if outcome.recovered_after is None else outcome.recovered_after,
            outcome.scheduler_gap,
        )
        for outcome in outcomes
    ]
    print(table(header, rows))
    outcome_counts: dict[str, int] = {}
    for outcome in outcomes:
        for name, count in outcome.clients.outcomes.items():
            outcome_counts[name] = outcome_counts.get(name, 0) + count
    print(f"tries that failed: {outcome_counts}")
    seen = traffic.seen
    refused = f"{seen.refused_searches} of others found nothing"
    print(f"access: {seen.successes} searches found what they may, {refused}, {len(seen.leaks)} leaks")
