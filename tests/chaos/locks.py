"""A place where a worker stands still: it waits for a row that we hold, and PostgreSQL says so."""

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import psycopg

from .images import connect

_WAITING = """
SELECT pid, query, EXISTS (
    SELECT FROM pg_locks
    WHERE pg_locks.pid = pg_stat_activity.pid AND relation = 'rag_chunk'::regclass AND mode = 'RowExclusiveLock'
) AS has_written_chunks
FROM pg_stat_activity WHERE %s = ANY(pg_blocking_pids(pid))
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
            return any(statement in query and (wrote or not chunks_written) for _, query, wrote in found)

        eventually(waits, f"nobody waits with: {statement}")


@contextlib.contextmanager
def locked(table: str, ids: list[UUID]) -> Iterator[Holder]:
    with connect() as connection, connection.transaction(force_rollback=True):
        connection.execute(f"SELECT FROM {table} WHERE id = ANY(%s) FOR UPDATE", [ids])
        yield Holder(connection)
