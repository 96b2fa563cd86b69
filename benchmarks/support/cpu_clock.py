"""The CPU time of a server and its PostgreSQL, which other work lengthens less than the time of a request."""

from pathlib import Path

import psutil


class CpuClock:
    """Reads the CPU time of the processes that this one has started, and of the PostgreSQL of a data folder."""

    def __init__(self, folder: Path) -> None:
        self._postgres = psutil.Process(int((folder / "postgres" / "postmaster.pid").read_text().split()[0]))
        self._tasks: list[Path] = []

    def find_processes(self) -> None:
        """Find the processes and threads that run now. Call it again after some of them have been started."""
        processes = [*psutil.Process().children(recursive=True), *self._postgres.children()]
        self._tasks = [task for process in processes for task in Path(f"/proc/{process.pid}/task").glob("*/schedstat")]

    def milliseconds(self) -> float:
        """Return the CPU time of the processes that were found, since they began.

        The processes of PostgreSQL that ended are included: these are the workers of parallel plans. Their time is
        counted in steps of 10 ms, so compare sums of many calls.
        """
        ended = self._postgres.cpu_times()
        children_seconds: float = ended.children_user + ended.children_system
        return sum(_nanoseconds(task) for task in self._tasks) / 1e6 + 1000 * children_seconds


def _nanoseconds(task: Path) -> int:
    try:
        return int(task.read_text().split()[0])
    except OSError:  # it has ended
        return 0
