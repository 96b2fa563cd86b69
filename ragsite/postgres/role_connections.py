"""The connections of a web process: one for each database role, so that no statement can change its role.

Other processes have one connection, which owns the tables or may become their owner, and switch its role.

With PgBouncer in transaction mode, a web process has a session of the server only during a transaction
(docs/decisions/0061-transaction-pooling.md). Other processes connect directly: their role and their locks belong to a
session.
"""

import contextlib
import threading
from collections.abc import Iterator
from typing import Any, TypedDict, cast

from django.conf import settings
from django.core.signals import request_finished, request_started
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.dispatch import receiver

from . import identity
from .identity import Identity

# What is reset between two callers of a session: what DISCARD ALL resets, except that the plans of functions are kept.
RESET_SESSION = (
    "RESET ALL; RESET ROLE; CLOSE ALL; DEALLOCATE ALL; UNLISTEN *; DISCARD TEMP; DISCARD SEQUENCES; "
    "SELECT pg_catalog.pg_advisory_unlock_all()"
)


# How many connections of sign-in, and how many of the admin, a process keeps: few requests use them, and the server
# limits its connections.
_MAX_IDLE = 2


class Server(TypedDict, total=False):
    """The address of a server or its pooler, like an entry of Django's setting DATABASES."""

    ENGINE: str
    HOST: str
    PORT: int | str
    NAME: str
    USER: str
    PASSWORD: str
    OPTIONS: dict[str, object]


class _Connections(threading.local):
    """The connections of this thread by role, and those to read replicas by their address."""

    def __init__(self) -> None:
        self.by_role: dict[str, BaseDatabaseWrapper] = {}
        self.by_address: dict[str, BaseDatabaseWrapper] = {}


class _IdleConnections:
    """Connections of sign-in and the admin between two requests: a few of each role, for whichever thread is next.

    Opening one takes longer than most pages: PostgreSQL starts a process, which reads the catalogue and compiles the
    functions of the policies.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_role: dict[str, list[BaseDatabaseWrapper]] = {}

    def take(self, role: str) -> BaseDatabaseWrapper | None:
        """Return a connection of the role; None if none is idle. Its session is reset before it is used."""
        with self._lock:
            idle = self._by_role.get(role)
            connection = idle.pop() if idle else None
        if connection:
            connection.close_if_unusable_or_obsolete()
        return connection

    def keep(self, role: str, connection: BaseDatabaseWrapper) -> None:
        """Keep a connection that no request uses any more. It is closed if enough are kept or if it is not open."""
        if connection.connection is not None and not connection.in_atomic_block:
            with self._lock:
                idle = self._by_role.setdefault(role, [])
                if len(idle) < _MAX_IDLE:
                    idle.append(connection)
                    return
        connection.close()

    def close(self) -> None:
        with self._lock:
            idle = [connection for of_role in self._by_role.values() for connection in of_role]
            self._by_role.clear()
        for connection in idle:
            connection.close()


_connections = _Connections()
_idle_connections = _IdleConnections()


def has_logins() -> bool:
    """Return whether this process connects separately as each role: only web processes do."""
    return identity.of_process() == identity.ANONYMOUS


def pooler() -> Server:
    """Return the address of the pooler that gives web processes a session for each transaction; empty without one."""
    return cast("Server", settings.RAG_DATABASE_POOLER)


def connection_parameters(server: Server) -> dict[str, object]:
    """Return the connection parameters of a server or its pooler: host, port, database name and its options."""
    parameters = {"host": server.get("HOST"), "port": server.get("PORT"), "dbname": server.get("NAME")}
    return {name: value for name, value in parameters.items() if value} | dict(server.get("OPTIONS", {}))


def use(current: Identity) -> None:
    """Make the connection of the identity's role the thread's default one."""
    if not has_logins():
        return
    role = current.role
    by_role = _connections.by_role
    if role not in by_role:
        by_role[role] = _idle_connections.take(role) or _create_connection(role)
    connections[DEFAULT_DB_ALIAS] = by_role[role]


def _create_connection(role: str) -> Any:
    connection: Any = connections.create_connection(DEFAULT_DB_ALIAS)
    connection.role = role
    if role != identity.READER_ROLE:
        connection.inc_thread_sharing()  # one thread uses it after the other
    return connection


identity.on_change(use)


def replica_connection(server: Server) -> BaseDatabaseWrapper:
    """Return this thread's connection to a read replica.

    It has the reader's role, so it serves searches and other requests of users, but no sign-in and no admin page.
    """
    key = str(server)
    if key not in _connections.by_address:
        connection: Any = connections.create_connection(DEFAULT_DB_ALIAS)
        connection.role, connection.replica_address = identity.READER_ROLE, server
        _connections.by_address[key] = connection
    return _connections.by_address[key]


@contextlib.contextmanager
def use_for_callers(connection: BaseDatabaseWrapper) -> Iterator[BaseDatabaseWrapper]:
    """Execute the statements of callers in this block on another connection. Yields the one that it replaces."""
    role = identity.READER_ROLE
    previous = _connections.by_role[role]
    _connections.by_role[role] = connection
    use(identity.current())
    try:
        yield previous
    finally:
        _connections.by_role[role] = previous
        use(identity.current())


def close_all() -> None:
    """Close the thread's connections, and those that wait for any thread."""
    close_of_thread()
    _idle_connections.close()


def close_of_thread() -> None:
    """Close the thread's connections of all roles and to all replicas."""
    for by_key in (_connections.by_role, _connections.by_address):
        for connection in by_key.values():
            connection.close()
        by_key.clear()


@receiver(request_started)
def _check_replica_connections(**_: object) -> None:
    """Let each connection to a replica be checked and reset before this request uses it, as Django does with others."""
    for connection in _connections.by_address.values():
        connection.close_if_unusable_or_obsolete()


@receiver(request_finished)
def _release_connections(**_: object) -> None:
    """Give up the connections of sign-in and the admin: another thread may take them from now on."""
    used = [role for role in _connections.by_role if role != identity.READER_ROLE]
    if used:
        use(identity.ANONYMOUS)
    for role in used:
        _idle_connections.keep(role, _connections.by_role.pop(role))
