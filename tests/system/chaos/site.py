"""A product of its own to break: the embedded services of a folder, and a worker on them."""

import contextlib
import os
import secrets
import shutil
import signal
import subprocess
from pathlib import Path

import psutil
import redis

from ragsite.embedded import postgres, services
from ragsite.embedded.redis import stop as stop_redis
from ragsite.run import processes


class Site:
    """Its services run while it is entered; the folder is removed before and after."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._workers: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> "Site":
        self._remove()
        # For this process and its children. Short leases: a dead worker's documents come back soon. Attempts without
        # end: whoever kills a worker at every step must not be told that the document is poison.
        os.environ.update(
            self._started(),
            SECRET_KEY=secrets.token_urlsafe(64),
            RAG_LOCAL="1",
            RAGSITE_DATA=str(self.folder),
            DJANGO_SETTINGS_MODULE="ragsite.settings",
            RAG_LEASE_SECONDS="2",
            RAG_SWEEP_INTERVAL_SECONDS="1",
            RAG_MAX_ATTEMPTS="10000",
            RAG_CHUNK_TOKENS="48",
            RAG_CHUNK_OVERLAP_TOKENS="6",
            RAG_ALLOWED_PRIVATE_HOSTS="127.0.0.1",  # tests/system/chaos/endpoint.py
        )
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        self.kill_worker()
        services.stop(self.folder)
        if error is None:  # else the worker's log says more
            self._remove()

    def _remove(self) -> None:
        services.forget(self.folder)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _started(self) -> dict[str, str]:
        return services.start(self.folder, environment={})

    # The workers: the one for documents with a child for each core, and the keeper; each is a process group.

    def start_worker(self) -> None:
        self.kill_worker()
        with open(self.folder / "worker.log", "ab") as log:
            self._workers = [
                subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
                for command in (processes.worker(), processes.keeper(folder=self.folder))
            ]

    def worker_runs(self) -> bool:
        return bool(self._workers) and all(worker.poll() is None for worker in self._workers)

    def kill_worker(self) -> None:
        """SIGKILL to both families at once, as when the machine dies."""
        for worker in self._workers:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(worker.pid, signal.SIGKILL)
            worker.wait()
        self._workers = []

    def kill_child(self) -> bool:
        """One of the processes that do the work, as when the kernel runs out of memory. False if there is none yet."""
        if not self.worker_runs():
            return False
        children = psutil.Process(self._workers[0].pid).children()
        if children:
            with contextlib.suppress(psutil.NoSuchProcess):
                children[-1].kill()
        return bool(children)

    # The services.

    def restart_postgres(self) -> None:
        """In order: open transactions are rolled back, what was committed is written to disk."""
        postgres.stop(self.folder)
        self._started()

    def crash_postgres(self) -> None:
        """SIGKILL to all its processes: what was not written yet is gone, and the next start recovers from the log."""
        postmaster = psutil.Process(int((self.folder / "postgres" / "postmaster.pid").read_text().split("\n")[0]))
        family = [postmaster, *postmaster.children()]
        for process in family:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(family, timeout=10)
        self._started()

    def redis(self) -> redis.Redis:
        return redis.Redis.from_url(os.environ["REDIS_URL"])

    def flush_redis(self) -> None:
        with self.redis() as client:
            client.flushall()

    def restart_redis(self) -> None:
        stop_redis(self.folder)
        self._started()
