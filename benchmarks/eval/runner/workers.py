"""Processes that share the work, one for each core: what they do is the product's own code."""

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
    """A pool that is made anew, once for each piece of work, if the machine ends one of its processes."""

    def __init__(self) -> None:
        self.size = max(1, min(_MAX_PROCESSES, len(os.sched_getaffinity(0))))
        self._pool = self._start_processes()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._pool.shutdown(cancel_futures=True)

    def share(self, work: Callable[..., list[Any]], items: Sequence[Any], *given: Any, portion: int = 8) -> list[Any]:
        """work(items, *given) in portions, everywhere at once; its results in the order of the items."""
        portions = [items[start : start + portion] for start in range(0, len(items), portion)]
        return [item for done in self._everywhere([(work, one, *given) for one in portions]) for item in done]

    def run_everywhere(self, work: Callable[..., Any], *given: Any) -> list[Any]:
        """work(*given) in each process."""
        return self._everywhere([(work, *given)] * self.size)

    def _everywhere(self, calls: list[tuple[Any, ...]]) -> list[Any]:
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
        return ProcessPoolExecutor(self.size, mp_context=get_context("spawn"), initializer=_begin)


def _begin() -> None:
    threading.Thread(target=_end_with_the_parent, daemon=True).start()
    identity.run_process_as(identity.WORKER)
    django.setup()


def _end_with_the_parent() -> None:
    """However it ends: a process that waits for work would wait for ever."""
    if parent := parent_process():
        parent.join()
        os._exit(1)
