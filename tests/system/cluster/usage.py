"""Where the time of a run went: the cores, by kind of process, and waits inside PostgreSQL."""

import contextlib
import os
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

import psutil
import psycopg

_SAMPLE_SECONDS = 0.05
_WAITS = (
    "SELECT wait_event_type, wait_event FROM pg_stat_activity WHERE state = 'active' AND pid <> pg_backend_pid() "
    "AND backend_type = 'client backend' AND wait_event_type IN ('Lock', 'LWLock', 'IO')"
)


@dataclass
class Usage:
    """What a run used.

    Attributes:
        seconds: How long it took.
        busy: The share of the time of all cores in which they were busy, whoever used them.
        cpu_seconds: Kind of process (worker, postgres, driver, others) → seconds of a core.
        waits: Wait of PostgreSQL (`Lock/advisory`) → seconds, summed over its sessions.
    """

    seconds: float = 0
    busy: float = 0
    cpu_seconds: dict[str, float] = field(default_factory=dict)
    waits: dict[str, float] = field(default_factory=dict)

    @property
    def ingestion_cpu_seconds(self) -> float:
        """Seconds of a core for the work itself: the workers and PostgreSQL."""
        return self.cpu_seconds.get("worker", 0) + self.cpu_seconds.get("postgres", 0)

    @property
    def lock_seconds(self) -> float:
        """Seconds in which sessions of PostgreSQL waited for locks of others."""
        return sum(seconds for name, seconds in self.waits.items() if not name.startswith("IO/"))


@contextlib.contextmanager
def measured_usage() -> Iterator[Usage]:
    """Yield a Usage that is filled when the block ends."""
    usage, finished, samples = Usage(), threading.Event(), Counter[str]()

    def sample() -> None:
        with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as database:
            while not finished.wait(_SAMPLE_SECONDS):
                samples["all"] += 1
                samples.update(f"{kind}/{event}" for kind, event in database.execute(_WAITS).fetchall())

    thread = threading.Thread(target=sample, daemon=True)
    before, begin = _cpu_seconds(), time.monotonic()
    psutil.cpu_percent()
    thread.start()
    try:
        yield usage
    finally:
        finished.set()
        thread.join()
        usage.seconds, usage.busy = time.monotonic() - begin, psutil.cpu_percent() / 100
        usage.cpu_seconds = {kind: seconds - before.get(kind, 0) for kind, seconds in _cpu_seconds().items()}
        total = samples.pop("all", 0) or 1
        usage.waits = {name: count / total * usage.seconds for name, count in samples.items()}


def _cpu_seconds() -> dict[str, float]:
    """Return kind of process → seconds of a core that its processes have used, with those that have ended."""
    seconds = defaultdict[str, float](float)
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.NoSuchProcess):
            seconds[_kind(process)] += sum(process.cpu_times()[:4])  # the last two are of children that have ended
    return seconds


def _kind(process: psutil.Process) -> str:
    if process.pid == os.getpid():
        return "driver"
    command = " ".join(process.cmdline())
    if "--queues ingestion" in command or "ingestion@" in command:
        return "worker"
    is_postgres = command.startswith("postgres:") or "bin/postgres " in command
    return "postgres" if is_postgres else "others"
