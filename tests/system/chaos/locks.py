"""A place where a worker stands still: it waits for a row that we hold, and PostgreSQL says so."""

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import psycopg

from .images import connect

# Who waits for us, and who waits behind them: a worker's heartbeat may have come first.
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


class NotReached(AssertionError):
    """The worker never came to the place where it was to be killed: nothing was tested."""


def eventually(question: Callable[[], Any], what: str, *, seconds: float = 60) -> Any:
    """The first answer that is true. Raises NotReached."""
    deadline = time.monotonic() + seconds
    while not (answer := question()):
        if time.monotonic() > deadline:
            raise NotReached(what)
        time.sleep(0.03)
    return answer


class Holder:
    """Rows locked by us, in a transaction that changes nothing."""

    def __init__(self, connection: "psycopg.Connection[Any]") -> None:
        self._connection = connection

    def wait_for(self, statement: str, *, chunks_written: bool = False) -> None:
        """Until somebody who runs such a statement (a part of its text) waits for us. Raises NotReached."""

        def waits() -> bool:
            with connect() as observer:
                found = observer.execute(_WAITING, [self._connection.info.backend_pid]).fetchall()
            return any(statement in query and (wrote or not chunks_written) for query, wrote in found)

        eventually(waits, f"nobody waits with: {statement}")


@contextlib.contextmanager
def locked(table: str, ids: list[UUID], *, key: str = "id") -> Iterator[Holder]:
    connection = connect()
    try:
        connection.execute("BEGIN")
        connection.execute(f"SELECT FROM {table} WHERE {key} = ANY(%s) FOR UPDATE", [ids])
        yield Holder(connection)
    finally:
        connection.close()  # and with it, or with the server, the locks
