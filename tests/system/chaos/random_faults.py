"""Injects faults at random moments, in rounds."""

import random
import time
from collections.abc import Callable

from rag.models import IngestionJob

from .documents import DocumentGenerator, submission_rounds
from .embedding_endpoint import Endpoint
from .installation import Site
from .run import Report, Run

# Documents and faults of a round.
_DOCUMENTS, _MAX_FAULTS = 40, 12
# The endpoint's response time: long enough that faults hit work in progress.
_LATENCY_SECONDS = 0.4


def inject_random_faults(site: Site, endpoint: Endpoint, *, seconds: float, seed: int) -> Report:
    """Run rounds until the time is over. The same seed chooses the same documents and faults."""
    total, number, end = Report(), 0, time.monotonic() + seconds
    endpoint.latency = _LATENCY_SECONDS
    try:
        while time.monotonic() < end:
            number += 1
            total.add(_round(Run(site, endpoint, f"random-faults-{number}"), seed=seed + number))
    finally:
        endpoint.latency = 0
    return total


def _round(run: Run, *, seed: int) -> Report:
    generator, chance = DocumentGenerator(seed), random.Random(seed)
    documents = [generator.random_document(f"random-faults/{number}.md") for number in range(_DOCUMENTS)]
    faults = _faults(run.site)
    with run.compared_with_undisturbed(documents):
        for submissions in submission_rounds(documents):
            run.submit(submissions)
        for _ in range(_MAX_FAULTS):
            time.sleep(chance.uniform(0.2, 2.5))
            if not IngestionJob.objects.filter(source=run.disturbed, finished_at=None).exists():
                break
            name = chance.choice(sorted(faults))
            if faults[name]():
                run.count_fault(name)
            run.keep_worker_running()
    return run.report


def _faults(site: Site) -> dict[str, Callable[[], bool]]:
    """Fault functions by name. Each returns whether it had an effect."""

    def always(inject: Callable[[], None]) -> Callable[[], bool]:
        def injected() -> bool:
            inject()
            return True

        return injected

    def kill_worker_and_scheduler() -> bool:
        was_running = site.worker_and_scheduler_run()
        site.kill_worker_and_scheduler()
        return was_running

    return {
        "worker and scheduler killed": kill_worker_and_scheduler,
        "process of a worker killed": site.kill_child,
        "Postgres restarted": always(site.restart_postgres),
        "Postgres crashed": always(site.crash_postgres),
        "Redis flushed": always(site.flush_redis),
        "Redis restarted": always(site.restart_redis),
    }
