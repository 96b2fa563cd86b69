"""Slots that all processes of this machine share. A process works only while it holds one.

A slot is a lock on a file (flock). The kernel releases it when its process ends, however it ends
(docs/decisions/0042-expensive-requests.md).
"""

import contextlib
import fcntl
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

# While a process waits it asks this often.
_POLL_SECONDS = 0.005


class CrossProcessSlots:
    """A counting semaphore that all processes of the machine share.

    A process that waits for a slot holds the gate, a separate lock. A process that has just left a slot must pass the
    gate again, and so does not overtake the one that waits.
    """

    def __init__(self, *, folder: Path, count: int) -> None:
        """Share `count` slots with all processes that name the same folder. It is created."""
        self._folder = folder
        self._count = count

    @contextlib.contextmanager
    def slot(self, *, timeout: float) -> Iterator[bool]:
        """Hold a slot while the block runs. Yields False, without a slot, if none was free within `timeout` seconds.

        Raises:
            OSError: If the folder cannot be used.
        """
        deadline = time.monotonic() + timeout
        with contextlib.ExitStack() as files:
            slots = [files.enter_context(self._open(f"slot-{number}")) for number in range(self._count)]
            with self._open("gate") as gate:
                has_slot = _lock_one_of([gate], deadline) and _lock_one_of(slots, deadline)
            yield has_slot

    def _open(self, name: str) -> IO[bytes]:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return open(self._folder / name, "ab")


def _lock_one_of(files: list[IO[bytes]], deadline: float) -> bool:
    """Lock one of these files, which are released when they are closed; return False at the deadline."""
    while True:
        for file in files:
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
        if time.monotonic() >= deadline:
            return False
        time.sleep(_POLL_SECONDS)
