"""Faults at random moments, in rounds, for as long as wanted."""

import random
import time
from collections.abc import Callable

from rag.models import IngestionJob

from .endpoint import Endpoint
from .library import Author, waves
from .run import Report, Run
from .site import Site

# Of a round.
_DOCUMENTS, _MOST_FAULTS = 40, 12
# Seconds that the endpoint takes for a request, so that faults find work to disturb.
_LATENCY = 0.4


def storm(site: Site, endpoint: Endpoint, *, seconds: float, seed: int) -> Report:
    """Rounds until the time is over. The same seed chooses the same documents and faults."""
    total, number, end = Report(), 0, time.monotonic() + seconds
    endpoint.latency = _LATENCY
    try:
        while time.monotonic() < end:
            number += 1
            total.add(_round(Run(site, endpoint, f"storm-{number}"), seed=seed + number))
    finally:
        endpoint.latency = 0
    return total


def _round(run: Run, *, seed: int) -> Report:
    author, chance = Author(seed), random.Random(seed)
    books = [author.any_book(f"storm/{number}.md") for number in range(_DOCUMENTS)]
    faults = _faults(run.site)
    with run.judged(books):
        for submissions in waves(books):
            run.submit(submissions)
        for _ in range(_MOST_FAULTS):
            time.sleep(chance.uniform(0.2, 2.5))
            if not IngestionJob.objects.filter(source=run.disturbed, finished_at=None).exists():
                break
            name = chance.choice(sorted(faults))
            if faults[name]():
                run.struck(name)
            run.keep_worker_running()
    return run.report


def _faults(site: Site) -> dict[str, Callable[[], bool]]:
    """Each tells whether it found something to strike."""

    def always(strike: Callable[[], None]) -> Callable[[], bool]:
        def struck() -> bool:
            strike()
            return True

        return struck

    def worker() -> bool:
        runs = site.worker_runs()
        site.kill_worker()
        return runs

    return {
        "worker killed": worker,
        "process of a worker killed": site.kill_child,
        "Postgres restarted": always(site.restart_postgres),
        "Postgres crashed": always(site.crash_postgres),
        "Redis flushed": always(site.flush_redis),
        "Redis restarted": always(site.restart_redis),
    }
