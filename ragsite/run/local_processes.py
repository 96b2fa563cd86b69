"""The child processes of `make run`: each runs in its own session and is recorded on disk; all are stopped together."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil

# A worker gives back the documents that it has not finished, and ends. A web server first drains, and then finishes its
# requests (ragsite/settings/web_server.py).
_EXTRA_STOP_SECONDS = 3
_STOP_SETTINGS = {"RAG_DRAIN_SECONDS": 0, "RAG_STOP_SECONDS": 5}
_MAX_RESTARTS = 5


class Children:
    """The running child processes, by name."""

    def __init__(self, record: Path) -> None:
        """`record` is the file that lists the running processes for the next launcher."""
        self._record = record
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._logs: dict[str, Path] = {}
        self._commands: dict[str, list[str]] = {}
        self._restarts: dict[str, int] = {}

    def start(self, name: str, command: list[str], *, log: Path) -> None:
        """Start a process in its own session: Ctrl-C reaches only the launcher, which stops the processes in order."""
        with open(log, "ab") as output:
            self._running[name] = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
            )
        self._logs[name], self._commands[name] = log, command
        recorded = [[process.pid, psutil.Process(process.pid).create_time()] for process in self._running.values()]
        self._record.write_text(json.dumps(recorded))

    def restart_ended(self) -> list[str]:
        """Restart the processes that have ended.

        Returns:
            Their names.

        Raises:
            SystemExit: If a process has ended too often.
        """
        ended = [name for name, process in self._running.items() if process.poll() is not None]
        for name in ended:
            self._restarts[name] = self._restarts.get(name, 0) + 1
            if self._restarts[name] > _MAX_RESTARTS:
                self.require_running()
            _kill_group(self._running[name].pid)
            self.start(name, self._commands[name], log=self._logs[name])
        return ended

    def require_running(self) -> None:
        """Raise SystemExit with a message if a process has ended."""
        for name, process in self._running.items():
            if process.poll() is not None:
                sys.exit(
                    f"\nThe {name} process ended (status {process.returncode}); see the end of {self._logs[name]}."
                )

    def stop(self) -> None:
        """Stop all processes that were started here."""
        if not self._running:  # the record may still name leftovers
            return
        ended = [process for process in self._running.values() if process.poll() is not None]
        _stop([psutil.Process(process.pid) for process in self._running.values() if process not in ended])
        for process in ended:
            _kill_group(process.pid)
        self._running = {name: process for name, process in self._running.items() if process.poll() is None}
        self._record.unlink(missing_ok=True)

    def stop_leftovers(self) -> None:
        """Stop the processes of a launcher that was killed.

        The record has their start times as well, because process ids are reused.
        """
        try:
            recorded = json.loads(self._record.read_text())
        except (FileNotFoundError, ValueError):
            return
        _stop([process for pid, created in recorded if (process := _find_process(pid, created))])
        self._record.unlink(missing_ok=True)


def _find_process(pid: int, created: float) -> psutil.Process | None:
    try:
        process = psutil.Process(pid)
        return process if abs(process.create_time() - created) < 0.01 else None
    except psutil.NoSuchProcess:
        return None


def stop_timeout_seconds() -> int:
    """Return how long a process may take to drain and stop before it is killed."""
    drain, stop = (int(os.environ.get(name) or default) for name, default in _STOP_SETTINGS.items())
    return drain + stop + _EXTRA_STOP_SECONDS


def _stop(processes: list[psutil.Process]) -> None:
    """Terminate the processes, wait, then kill those still running, and whatever their descendants are."""
    for process in processes:
        process.terminate()
    _, running = psutil.wait_procs(processes, timeout=stop_timeout_seconds())
    for process in processes:
        _kill_group(process.pid)
    psutil.wait_procs(running, timeout=5)


def _kill_group(process_id: int) -> None:
    """Kill the descendants of a process, which leads its session. A worker that ends while it starts leaves some."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process_id, signal.SIGKILL)
