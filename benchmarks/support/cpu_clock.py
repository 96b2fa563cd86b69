"""The CPU time of a server and its PostgreSQL, which other work lengthens less than the time of a request."""

import os
import time
from pathlib import Path

# Unit of the times in /proc/PID/stat, in seconds.
_TICK = 1 / os.sysconf("SC_CLK_TCK")


class CpuClock:
    """Reads the CPU time of the processes below this one, and of the PostgreSQL of a data folder.

    Sessions, parallel workers and threads begin and end between two readings, so each reading lists the processes. The
    time of a process that has ended is part of the time of its parent's children.
    """

    def __init__(self, folder: Path) -> None:
        postgres = int((folder / "postgres" / "postmaster.pid").read_text().split()[0])
        self._roots = {os.getpid(), postgres}
        self._last = 0.0

    def milliseconds(self) -> float:
        """Return the CPU time of all processes until now, which never falls. A reading takes about a millisecond.

        The time of processes that have ended is counted in steps of 10 ms, so compare sums of many calls.
        """
        while True:
            processes = set[int]().union(*map(_processes_below, self._roots))
            ended = sum(map(_ended_children_seconds, processes | self._roots))
            running = sum(map(_seconds, processes))
            if ended == sum(map(_ended_children_seconds, processes | self._roots)):  # otherwise one has ended meanwhile
                break
        self._last = max(self._last, 1000 * (ended + running))
        return self._last


def _processes_below(pid: int) -> set[int]:
    """Return the running processes that a process has started, and those that these have."""
    children = _children(pid)
    return set(children).union(*map(_processes_below, children))


def _children(pid: int) -> list[int]:
    """Return the running processes that the main thread of a process has started: here all of them."""
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:  # it has ended
        return []


def _seconds(pid: int) -> float:
    """Return the CPU time of a process, with that of its ended threads; 0 if the process has ended."""
    try:
        return time.clock_gettime((~pid << 3) | 2)  # as in clock_getcpuclockid(3)
    except OSError:
        return 0.0


def _ended_children_seconds(pid: int) -> float:
    """Return the CPU time of the ended children of a process, and of theirs."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return _TICK * sum(map(int, fields[13:15]))  # cutime and cstime: proc_pid_stat(5)
