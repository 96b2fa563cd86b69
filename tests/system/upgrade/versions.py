"""Runs processes of two versions of the product on one machine, behind one proxy."""

import contextlib
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

import psutil

ROOT = Path(__file__).parents[3]
# 0.1.0, since the first commit whose first migrations are today's (docs/operations/backup-and-upgrade.md).
OLDEST_SUPPORTED_COMMIT = "1d9afffa"
# Everything else that it needs, the current version needs as well.
_OLD_PACKAGES = ("bpe-openai==0.1.4",)
_CELERY = [sys.executable, "-m", "celery", "-A", "ragsite", "worker", "--loglevel", "info"]
_MAX_START_SECONDS = 180


def extract_old_version(folder: Path) -> str:
    """Write the old version's files into the folder; return why that is not possible, empty if it was."""
    archive = subprocess.run(["git", "archive", OLDEST_SUPPORTED_COMMIT], cwd=ROOT, capture_output=True)
    if archive.returncode:
        return f"The history has no commit {OLDEST_SUPPORTED_COMMIT}: use a complete clone."
    folder.mkdir(parents=True)
    subprocess.run(["tar", "--extract", "--directory", str(folder)], input=archive.stdout, check=True)
    return ""


def install_old_packages(folder: Path) -> str:
    """Install what only the old version needs; return why that is not possible, empty if it was."""
    uv = [str(Path(sys.executable).with_name("uv")), "pip", "install", "--quiet", "--no-deps", "--target", str(folder)]
    result = subprocess.run([*uv, "--python", sys.executable, *_OLD_PACKAGES], capture_output=True, text=True)
    return f"The packages of the old version: {result.stderr.strip()}" if result.returncode else ""


class Version:
    """The processes of one version. `environment` is all that they know."""

    def __init__(self, name: str, code: Path, *, environment: dict[str, str], data: Path) -> None:
        self.port = free_port()
        self._name, self._code, self._logs = name, code, data
        self._environment = {**environment, "RAGSITE_DATA": str(data / name)}
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        (data / name).mkdir(parents=True, exist_ok=True)

    def run(self, *arguments: str) -> str:
        """Run Python with these arguments to its end and return what it printed."""
        command = [sys.executable, *arguments]
        result = subprocess.run(command, cwd=self._code, env=self._environment, stdout=subprocess.PIPE, text=True)
        if result.returncode:
            raise RuntimeError(f"{self._name}: {' '.join(arguments)} failed")
        return result.stdout

    def start_web(self, command: list[str]) -> None:
        self._start("web", command)

    def wait_until_ready(self) -> None:
        """Wait until the web server answers."""
        self._wait_for("web", self._is_ready)

    def prepare_migration(self) -> None:
        """Start the migration up to the point at which the processes of the earlier version have to be stopped."""
        self._start("migrate", [sys.executable, "-m", "ragsite.run.migrate_and_collect", "--pause"])
        self._wait_for("migrate", lambda: self._has_logged("migrate", "press Enter"))

    def wait_until_migration_is_awaited(self) -> None:
        """Wait until the web server has imported everything."""
        self._wait_for("web", lambda: self._has_logged("web", "waiting_for_migrate"))

    def migrate(self) -> None:
        """Let the prepared migration run to its end."""
        process = self._processes.pop("migrate")
        prepared, before = psutil.Process(process.pid).cpu_times(), resource.getrusage(resource.RUSAGE_CHILDREN)
        process.communicate(b"\n")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime - prepared.user - prepared.system
        print(f"the migrations needed {used:.1f} seconds of a core, besides PostgreSQL", flush=True)
        if process.returncode:
            raise RuntimeError(f"the migration failed; see {self._logs}/{self._name}-migrate.log")

    def _has_logged(self, name: str, text: str) -> bool:
        return text in (self._logs / f"{self._name}-{name}.log").read_text()

    def _wait_for(self, name: str, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + _MAX_START_SECONDS
        while not condition():
            if self._processes[name].poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{name} did not become ready; see {self._logs}/{self._name}-{name}.log")
            time.sleep(0.1)

    def start_workers(self) -> None:
        """Start the worker and the scheduler, whose commands are the same in both versions."""
        self._start("worker", [*_CELERY, "--concurrency", "2", "--queues", "ingestion", "--hostname", "ingestion@%h"])
        schedule = str(self._logs / self._name / "celerybeat-schedule")
        scheduler = [
            "--pool",
            "threads",
            "--concurrency",
            "4",
            "--queues",
            "maintenance",
            "--beat",
            "--schedule",
            schedule,
        ]
        self._start("scheduler", [*_CELERY, *scheduler, "--hostname", "maintenance@%h"])

    def _start(self, name: str, command: list[str]) -> None:
        with open(self._logs / f"{self._name}-{name}.log", "ab") as log:
            self._processes[name] = subprocess.Popen(
                command,
                cwd=self._code,
                env=self._environment,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/readyz", timeout=10):
                return True
        except (urllib.error.URLError, OSError):
            return False

    def stop(self, *names: str) -> None:
        """Stop these processes in order, or all of them; kill what has not ended after a minute."""
        stopping = [self._processes.pop(name) for name in names or list(self._processes)]
        for process in stopping:
            process.terminate()
        for process in stopping:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(60)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


class Proxy:
    """HAProxy with deploy/haproxy.cfg on loopback, without encryption, in front of both versions."""

    def __init__(self, folder: Path, ports: list[int]) -> None:
        self.port = free_port()
        text = (ROOT / "deploy" / "haproxy.cfg").read_text()
        text = text.replace(":443 ssl crt /etc/haproxy/ragsite.pem alpn h2,http/1.1", f"127.0.0.1:{self.port}")
        text = text.replace("bind :80", f"bind 127.0.0.1:{free_port()}")
        for number, port in enumerate(ports, start=11):
            text = text.replace(f"10.0.0.{number}:8000", f"127.0.0.1:{port}")
        (folder / "haproxy.cfg").write_text(text)
        with open(folder / "haproxy.log", "ab") as log:
            command = [shutil.which("haproxy") or "haproxy", "-db", "-f", str(folder / "haproxy.cfg")]
            self._process = subprocess.Popen(command, stdout=log, stderr=log)

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(20)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
