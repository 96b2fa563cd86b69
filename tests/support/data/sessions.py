"""Keeps sessions of the database that a test or one of its threads has closed, for the next one.

A new session of PostgreSQL reads the catalogue again, plans and compiles anew: with the few statements that a test
makes, this takes more computing than the statements. A kept session is reset as a web process resets its own.
"""

import select
from collections.abc import Callable
from typing import Any

from django.db import connection
from psycopg import Error, generators
from psycopg.pq import ExecStatus, TransactionStatus

from ragsite.postgres import role_connections
from ragsite.postgres.base import DatabaseWrapper

_MAX_KEPT = 8


class _Sessions:
    """Sessions that nobody uses, by the parameters they were opened with. The last one that was closed is used first.

    Lists change in single steps, so threads need no lock.
    """

    def __init__(self, open_session: Callable[..., Any], close_session: Callable[..., None]) -> None:
        self._open, self._close = open_session, close_session
        self._kept: dict[str, list[Any]] = {}

    def open(self, wrapper: Any, parameters: dict[str, Any]) -> Any:
        key = str(parameters)
        kept = self._kept.get(key, [])
        while kept:
            session = kept.pop()
            # The server says something to an idle session only when it ends it.
            if not select.select([session], [], [], 0)[0]:
                return session
            session.close()
        session = self._open(wrapper, parameters)
        session.kept_as = key
        return session

    def close(self, wrapper: Any) -> None:
        session = wrapper.connection
        key = getattr(session, "kept_as", "")  # none of those that were opened before sessions are kept
        kept = self._kept.setdefault(key, [])
        if not key or wrapper.login or len(kept) >= _MAX_KEPT or not _is_reset(session):
            self._close(wrapper)
            return
        wrapper.connection = None
        kept.append(session)

    def close_all(self) -> None:
        for kept in self._kept.values():
            while kept:
                kept.pop().close()


def _is_reset(session: Any) -> bool:
    """Reset a session that is open and in no transaction; return whether it was."""
    if session is None or session.closed or session.info.transaction_status != TransactionStatus.IDLE:
        return False
    try:
        session.pgconn.send_query(role_connections.RESET_SESSION.encode())
        *_, result = session.wait(generators.execute(session.pgconn))
    except Error:
        return False
    return bool(result.status == ExecStatus.TUPLES_OK)


def keep_sessions() -> Callable[[], None]:
    """Let every connection of this process keep its session when it is closed. Returns what closes those kept."""
    connection.close()
    engine: Any = DatabaseWrapper
    sessions = _Sessions(engine.get_new_connection, engine._close)
    engine.get_new_connection = lambda wrapper, parameters: sessions.open(wrapper, parameters)
    engine._close = lambda wrapper: sessions.close(wrapper)
    return sessions.close_all
