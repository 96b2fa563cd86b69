"""Stops a worker at a known place: it waits for a row lock that the test holds, as pg_blocking_pids() shows."""

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import psycopg

from .snapshots import connect

# Sessions that wait for the lock, directly or behind another waiting session such as a worker's heartbeat.
_WAITING = """
WITH RECURSIVE waiting AS (
    SELECT pid, query FROM pg_stat_activity WHERE %s = ANY(pg_blocking_pids(pid))
    UNION
    SELECT behind.pid, behind.query FROM pg_stat_activity AS behind
    JOIN waiting ON waiting.pid = ANY(pg_blocking_pids(behind.pid))
)
SELECT query, EXISTS (
    SELECT FROM pg_locks
    WHERE pg_locks.pid = waiting.pid AND relation = 'rag_chunk'::regclass AND mode = 'RowExclusiveLock'
) AS has_written_chunks
FROM waiting
"""


class PlaceNotReached(AssertionError):
    """The worker did not reach the place where the fault was to be injected, so nothing was tested."""


def eventually(condition: Callable[[], Any], failure: str, *, seconds: float = 60) -> Any:
    """Wait until the condition is true and return its value. Raises PlaceNotReached."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise PlaceNotReached(failure)
        time.sleep(0.03)
    return value


class RowLock:
    """A transaction that holds row locks and changes nothing."""

    def __init__(self, connection: "psycopg.Connection[Any]") -> None:
        self._connection = connection

    def wait_for(self, statement: str, *, chunks_written: bool = False) -> None:
        """Wait until a session whose statement contains this text waits for the lock. Raises PlaceNotReached."""

        def is_waited_for() -> bool:
            with connect() as observer:
                sessions = observer.execute(_WAITING, [self._connection.info.backend_pid]).fetchall()
            return any(statement in query and (wrote or not chunks_written) for query, wrote in sessions)

        eventually(is_waited_for, f"no session waits with: {statement}")


@contextlib.contextmanager
def lock_rows(table: str, ids: list[UUID], *, key: str = "id") -> Iterator[RowLock]:
    connection = connect()
    try:
        connection.execute("BEGIN")
        connection.execute(f"SELECT FROM {table} WHERE {key} = ANY(%s) FOR UPDATE", [ids])
        yield RowLock(connection)
    finally:
        connection.close()  # which releases the locks
