"""The memory of the product and of each peer, as proportional shares: a shared page counts in equal parts."""

import os
from collections.abc import Mapping
from contextlib import suppress

import psutil


def processes_of(roots: Mapping[str, int], others: str) -> dict[str, float]:
    """Return the MB of each tree of processes.

    Args:
        roots: The first process of each tree.
        others: The name for all other processes below this one, and Redis.
    """
    trees = {name: _tree(pid) for name, pid in roots.items()}
    named = {pid for tree in trees.values() for pid in tree}
    trees[others] = {pid for pid in _tree(os.getpid()) if pid not in named and pid != os.getpid()} | _redis()
    return {name: sum(map(_megabytes, tree)) for name, tree in trees.items()}


def sessions_of(databases: Mapping[str, str], server_pid: int) -> dict[str, float]:
    """Return the MB of the sessions in each database, by the name that it has in `databases`.

    What serves all databases, such as the checkpointer, is left out. Most of a session's memory are the pages of the
    shared buffers that it has touched.
    """
    titles = {pid: _title(pid) for pid in _tree(server_pid)}
    return {
        name: sum(_megabytes(pid) for pid, title in titles.items() if title[2:3] == [database])
        for name, database in databases.items()
    }


def _title(pid: int) -> list[str]:
    """The words of a session's title: postgres: USER DATABASE CLIENT STATE."""
    with suppress(psutil.Error):
        return " ".join(psutil.Process(pid).cmdline()).split()
    return []


def _tree(pid: int) -> set[int]:
    return {pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))}


def _redis() -> set[int]:
    folder = os.path.join(os.environ["RAGSITE_DATA"], "redis")
    return {
        process.pid for process in psutil.process_iter(["cmdline"]) if folder in " ".join(process.info["cmdline"] or [])
    }


def _megabytes(pid: int) -> float:
    with suppress(psutil.Error):
        return float(psutil.Process(pid).memory_full_info().pss / 1e6)
    return 0.0
