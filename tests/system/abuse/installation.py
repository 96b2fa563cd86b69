"""The whole product on services of its own: web server, worker, scheduler, and two models that can be made to hang."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Self

import psutil

from ragsite.embedded import postgres
from ragsite.embedded.redis import stop as stop_redis
from ragsite.run import commands
from tests.support.servers.provider_server import ProviderServer
from tests.system.chaos.installation import Site

# Limits of a model call and of a database statement. The product's defaults are 30 to 60 seconds, with which each fault
# would take minutes. Statements need more than model calls: one request may wait for two of them, and in a flood they
# wait for each other.
_MODEL_TIMEOUT_SECONDS, _STATEMENT_TIMEOUT_SECONDS = 4, 8
_SHOWN_LINES = 60  # of the log of workers, if one of them has ended


class Product(Site):
    """Runs while the context is entered. Ends only processes that it has started itself."""

    def __init__(
        self, folder: Path, *, embeddings: ProviderServer, language_model: ProviderServer, has_worker: bool = True
    ) -> None:
        super().__init__(folder)
        self._has_worker = has_worker
        self._model_environment = {"LLM_MODEL": "abuse", "LLM_BASE_URL": language_model.base_url, "LLM_API_KEY": "none"}
        self.embeddings, self.language_model = embeddings, language_model
        self._web: subprocess.Popen[bytes] | None = None
        self.worker_restarts = 0

    def __enter__(self) -> Self:
        super().__enter__()
        os.environ.update(
            self._model_environment,
            LLM_TIMEOUT=str(_MODEL_TIMEOUT_SECONDS),
            RAG_EMBEDDING_TIMEOUT_SECONDS=str(_MODEL_TIMEOUT_SECONDS),
            RAG_DATABASE_STATEMENT_TIMEOUT_SECONDS=str(_STATEMENT_TIMEOUT_SECONDS),
            RAG_RATE_LIMITS="off",
            DJANGO_SETTINGS_MODULE="tests.system.abuse.settings",
        )
        for command in (["migrate", "--verbosity=0"], ["collectstatic", "--noinput", "--verbosity=0"]):
            subprocess.run([sys.executable, "manage.py", *command], check=True)
        self.port = _free_port()
        self.start_web()
        if self._has_worker:
            self.start_worker_and_scheduler()
        return self

    def __exit__(self, error: type[BaseException] | None, *others: object) -> None:
        self.stop_web()
        super().__exit__(error, *others)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def web_log(self) -> Path:
        return self.folder / "web.log"

    def start_web(self) -> None:
        with open(self.web_log, "ab") as log:
            command = commands.web(host="127.0.0.1", port=self.port)
            self._web = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        deadline = time.monotonic() + 60
        while not self._is_ready():
            if self._web.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the web server did not become ready; see {self.web_log}")
            time.sleep(0.1)

    def stop_web(self) -> None:
        if self._web is None:
            return
        self._web.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._web.wait(15)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._web.pid, signal.SIGKILL)
        self._web.wait()
        self._web = None

    def web_processes(self) -> list[psutil.Process]:
        """The processes that serve requests."""
        return psutil.Process(self._web.pid).children(recursive=True) if self._web else []

    def web_memory(self) -> int:
        """The sum of their memory, in bytes, without what they share with other processes."""
        return sum(process.memory_full_info().uss for process in self.web_processes())

    def keep_worker_running(self) -> None:
        """Restart the worker and the scheduler if one of them has ended, as systemd does, and count and show it."""
        if not self.worker_and_scheduler_run():
            self.worker_restarts += 1
            exit_codes = {name: worker.poll() for name, worker in self._workers.items()}
            lines = (self.folder / "worker.log").read_text(errors="replace").splitlines()
            print(f"exit codes: {exit_codes}", *lines[-_SHOWN_LINES:], sep="\n", file=sys.stderr)
            self.start_worker_and_scheduler()

    def _is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.base_url}/readyz", timeout=5):
                return True
        except (urllib.error.URLError, OSError):
            return False

    # The services.

    def stop_postgres(self) -> None:
        postgres.stop(self.folder)

    def stop_redis(self) -> None:
        stop_redis(self.folder)

    def start_services(self) -> None:
        self._start_services()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
