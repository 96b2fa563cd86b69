"""A real Celery worker for tests, and its queue."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import redis
from django.conf import settings
from django.db import connection

from ragsite.celery import app


class Worker:
    """A Celery worker process with beat, on the test database."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self.log = folder / "worker.log"

    def start(self) -> None:
        name = connection.settings_dict["NAME"]
        environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "tests.support.processes.worker_settings",
            "TEST_DATABASE": str(name),
            "RAG_STORAGE_FOLDER": str(settings.RAG_STORAGE_FOLDER),
            "RAG_TEMP_FOLDER": str(settings.RAG_TEMP_FOLDER),
        }
        command = [sys.executable, "-m", "celery", "-A", "ragsite", "worker", "--beat", "--concurrency", "2"]
        command += ["--schedule", str(self._folder / "schedule"), "--loglevel", "info"]
        with open(self.log, "ab") as log:
            self._process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)

    def kill(self) -> None:
        """Send SIGKILL to the worker and its children, as when the machine loses power."""
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def lose_broker(self) -> None:
        """Close the worker's connections to Redis, as when Redis is started again."""
        name = str(connection.settings_dict["NAME"])
        with redis.Redis.from_url(settings.REDIS_URL) as client:
            clients = [entry["id"] for entry in client.client_list() if entry["name"] == name]
            assert clients
            for client_id in clients:
                client.client_kill_filter(_id=client_id)

    def ask_to_stop(self) -> None:
        """Send SIGTERM to the main process, as a service manager does, and do not wait."""
        assert self._process is not None
        self._process.terminate()

    def stop(self) -> None:
        if self._process is None or self._process.poll() is not None:
            return
        children = psutil.Process(self._process.pid).children(recursive=True)
        self._process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(60)  # it ends its tasks and deletes its heartbeat first
        if self._process.poll() is None:
            self.kill()
        psutil.wait_procs(children, timeout=5)


def purge_queue() -> None:
    with app.connection_for_write() as broker:
        app.control.purge(connection=broker)
