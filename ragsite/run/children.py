"""The processes that `make run` starts: in sessions of their own, noted on disk, ended together."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil

# A worker finishes the document at hand; what it cannot finish, the sweep gives to the next one.
_PATIENCE = 8
_MOST_REVIVALS = 5


class Children:
    def __init__(self, notes: Path) -> None:
        self._notes = notes
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._logs: dict[str, Path] = {}
        self._commands: dict[str, list[str]] = {}
        self._revived: dict[str, int] = {}

    def start(self, name: str, command: list[str], *, log: Path) -> None:
        """Its own session: Ctrl-C reaches the launcher alone, which then ends things in order."""
        with open(log, "ab") as output:
            self._running[name] = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
            )
        self._logs[name], self._commands[name] = log, command
        noted = [[each.pid, psutil.Process(each.pid).create_time()] for each in self._running.values()]
        self._notes.write_text(json.dumps(noted))

    def revive(self) -> list[str]:
        """Start again those that have ended, and name them. Raises SystemExit for one that ends again and again."""
        ended = [name for name, child in self._running.items() if child.poll() is not None]
        for name in ended:
            self._revived[name] = self._revived.get(name, 0) + 1
            if self._revived[name] > _MOST_REVIVALS:
                self.require_alive()
            with contextlib.suppress(ProcessLookupError):  # what it has left of its family
                os.killpg(self._running[name].pid, signal.SIGKILL)
            self.start(name, self._commands[name], log=self._logs[name])
        return ended

    def require_alive(self) -> None:
        """Raise SystemExit, with a sentence, if one of them has ended."""
        for name, child in self._running.items():
            if child.poll() is not None:
                sys.exit(
                    f"\nThe {name} process ended (status {child.returncode}); the end of {self._logs[name]} says why."
                )

    def end(self) -> None:
        _end([psutil.Process(child.pid) for child in self._running.values() if child.poll() is None])
        self._notes.unlink(missing_ok=True)

    def end_leftovers(self) -> None:
        """End what a killed launcher left behind. A process is known by its id and the time of its start."""
        try:
            noted = json.loads(self._notes.read_text())
        except (FileNotFoundError, ValueError):
            return
        _end([process for pid, created in noted if (process := _same(pid, created))])
        self._notes.unlink(missing_ok=True)


def _same(pid: int, created: float) -> psutil.Process | None:
    try:
        process = psutil.Process(pid)
        return process if abs(process.create_time() - created) < 0.01 else None
    except psutil.NoSuchProcess:
        return None


def _end(processes: list[psutil.Process]) -> None:
    """Ask, wait, then kill each with all its descendants."""
    for process in processes:
        process.terminate()
    _, alive = psutil.wait_procs(processes, timeout=_PATIENCE)
    for process in alive:
        # It leads its own session, so its group is its whole family.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    psutil.wait_procs(alive, timeout=5)
