"""An installation of its own to break: embedded services in a folder, and worker processes."""

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
from ragsite.run import commands


class Site:
    """Runs the services while the context is entered; removes the folder before and after."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._workers: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> "Site":
        self._remove()
        # For this process and its children.
        os.environ.update(
            self._start_services(),
            SECRET_KEY=secrets.token_urlsafe(64),
            RAG_LOCAL="1",
            RAGSITE_DATA=str(self.folder),
            DJANGO_SETTINGS_MODULE="tests.system.chaos.settings",
            RAG_CHUNK_TOKENS="48",
            RAG_CHUNK_OVERLAP_TOKENS="6",
            RAG_ALLOWED_PRIVATE_HOSTS="127.0.0.1",  # tests/system/chaos/embedding_endpoint.py
        )
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        self.kill_worker_and_scheduler()
        services.stop(self.folder)
        if error is None:  # else keep the worker's log
            self._remove()

    def _remove(self) -> None:
        services.delete_data(self.folder)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _start_services(self) -> dict[str, str]:
        return services.start(self.folder, environment={}, superuser=True)

    # The ingestion worker with one child for each core, and the scheduler. Each is a process group.

    def start_worker_and_scheduler(self) -> None:
        """Start the ingestion worker anew, and the scheduler if it does not run."""
        self.kill_ingestion_worker()
        self._start("worker", commands.worker())
        if not self._is_running("scheduler"):
            self._kill("scheduler")  # its children may remain
            self._start("scheduler", commands.scheduler(folder=self.folder))

    def _start(self, name: str, command: list[str]) -> None:
        with open(self.folder / "worker.log", "ab") as log:
            self._workers[name] = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)

    def worker_and_scheduler_run(self) -> bool:
        return self._is_running("worker") and self._is_running("scheduler")

    def _is_running(self, name: str) -> bool:
        return name in self._workers and self._workers[name].poll() is None

    def kill_worker_and_scheduler(self) -> None:
        """Send SIGKILL to both process groups, as when the machine loses power."""
        self.kill_ingestion_worker()
        self._kill("scheduler")

    def kill_ingestion_worker(self) -> None:
        """Send SIGKILL to its process group alone: the scheduler finds out."""
        self._kill("worker")

    def _kill(self, name: str) -> None:
        if worker := self._workers.pop(name, None):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(worker.pid, signal.SIGKILL)
            worker.wait()

    def kill_child(self) -> bool:
        """Kill one child of the worker, as the kernel's OOM killer does; False if there is none yet."""
        if not self.worker_and_scheduler_run():
            return False
        children = psutil.Process(self._workers["worker"].pid).children()
        if children:
            with contextlib.suppress(psutil.NoSuchProcess):
                children[-1].kill()
        return bool(children)

    # The services.

    def restart_postgres(self) -> None:
        """Restart in order: open transactions are rolled back and committed data is on disk."""
        postgres.stop(self.folder)
        self._start_services()

    def crash_postgres(self) -> None:
        """Send SIGKILL to all its processes; the next start recovers from the write-ahead log."""
        postmaster = psutil.Process(int((self.folder / "postgres" / "postmaster.pid").read_text().split("\n")[0]))
        server_processes = [postmaster, *postmaster.children()]
        for process in server_processes:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(server_processes, timeout=10)
        self._start_services()

    def redis(self) -> redis.Redis:
        return redis.Redis.from_url(os.environ["REDIS_URL"])

    def flush_redis(self) -> None:
        with self.redis() as client:
            client.flushall()

    def restart_redis(self) -> None:
        stop_redis(self.folder)
        self._start_services()
