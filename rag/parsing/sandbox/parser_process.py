"""Starts a parser process, sends it requests and stops it."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from rag.errors import ParseFailed

from .limits import ParseRequest

_ROOT = Path(__file__).parents[3]
_START_TIMEOUT_SECONDS = 60


class ParserGone(Exception):
    """The parser process has ended, or sent something unexpected."""


class ParserTimeout(Exception):
    """The parser process did not answer in time."""


class ParserProcess:
    """A running `rag.parsing.sandbox.child`, which forks for each document."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "rag.parsing.sandbox.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=_ROOT,
            env=child_environment(),
            start_new_session=True,
        )
        try:
            if self._read_line(time.monotonic() + _START_TIMEOUT_SECONDS) != "ready":
                raise ParserGone
        except (ParserTimeout, ParserGone):
            self.stop()
            raise ParseFailed("The parser process does not start. Try again later.") from None

    def is_alive(self) -> bool:
        """Return whether the process is running."""
        return self._process.poll() is None

    def send(self, request: ParseRequest, *, timeout_seconds: float) -> int:
        """Parse one document.

        Returns:
            The exit code of the fork that parsed it; negative if a signal ended it.

        Raises:
            ParserTimeout: If the fork took longer than the timeout. The process must be stopped.
            ParserGone: If the process has ended.
        """
        assert self._process.stdin
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
            return int(self._read_line(time.monotonic() + timeout_seconds))
        except (OSError, ValueError):
            raise ParserGone from None

    def stop(self) -> None:
        """Kill the process with its fork."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                if pipe:
                    pipe.close()

    def _read_line(self, deadline: float) -> str:
        """Read a line of the process's output.

        Raises:
            ParserTimeout: If no line is complete at the deadline.
            ParserGone: If the process has ended.
        """
        assert self._process.stdout
        line = b""
        poll = select.poll()
        poll.register(self._process.stdout, select.POLLIN)
        while not line.endswith(b"\n") and len(line) < 100:
            remaining_seconds = deadline - time.monotonic()
            if remaining_seconds <= 0 or not poll.poll(remaining_seconds * 1000):
                raise ParserTimeout
            data = os.read(self._process.stdout.fileno(), 100)
            if not data:
                raise ParserGone
            line += data
        return line.decode("ascii", "replace").strip()


def child_environment() -> dict[str, str]:
    """Return the environment of a parser process. Nothing is inherited, so that no secret can be read from it."""
    return {
        "PATH": os.defpath,
        "LANG": "C.UTF-8",
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "PYTHONUTF8": "1",
        # One thread: a fork copies only the calling one. Few arenas: each reserves 64 MB of the limited address space.
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "MALLOC_ARENA_MAX": "2",
        "RAYON_NUM_THREADS": "1",
        "TOKIO_WORKER_THREADS": "1",
    }
