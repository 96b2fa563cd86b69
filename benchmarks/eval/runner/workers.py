"""A pool of processes, one for each core, that run the product's code."""

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context, parent_process
from types import TracebackType
from typing import Any, Self

import django

from ragsite.postgres import identity

_MAX_PROCESSES = 8  # each holds the model and its tables: about 400 MB


class WorkerPool:
    """A process pool. If one of its processes is killed, the pool is recreated and the work repeated once."""

    def __init__(self) -> None:
        self.size = max(1, min(_MAX_PROCESSES, len(os.sched_getaffinity(0))))
        self._pool = self._start_processes()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._pool.shutdown(cancel_futures=True)

    def share(
        self, work: Callable[..., list[Any]], items: Sequence[Any], *arguments: Any, portion_size: int = 8
    ) -> list[Any]:
        """Run work(portion, *arguments) for portions of the items in parallel; return the results in order."""
        portions = [items[start : start + portion_size] for start in range(0, len(items), portion_size)]
        results = self._run_or_recreate([(work, portion, *arguments) for portion in portions])
        return [item for result in results for item in result]

    def run_everywhere(self, work: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Run work(*arguments) as many times in parallel as there are processes."""
        return self._run_or_recreate([(work, *arguments)] * self.size)

    def _run_or_recreate(self, calls: list[tuple[Any, ...]]) -> list[Any]:
        try:
            return self._run(calls)
        except BrokenProcessPool:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = self._start_processes()
            return self._run(calls)

    def _run(self, calls: Iterable[tuple[Any, ...]]) -> list[Any]:
        futures = [self._pool.submit(*call) for call in calls]
        try:
            return [future.result() for future in futures]
        finally:
            for future in futures:
                future.cancel()

    def _start_processes(self) -> ProcessPoolExecutor:
        # Spawned, as forked children would share this process's database connection.
        return ProcessPoolExecutor(self.size, mp_context=get_context("spawn"), initializer=_initialize)


def _initialize() -> None:
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    identity.run_process_as(identity.WORKER)
    django.setup()


def _exit_with_parent() -> None:
    """Exit when the parent process ends in any way, so that no process waits for work for ever."""
    if parent := parent_process():
        parent.join()
        os._exit(1)
