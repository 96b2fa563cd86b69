"""The connections of a web process: one for each database role, so that no statement can change its role.

Other processes have one connection, which owns the tables or may become their owner, and switch its role.

With PgBouncer in transaction mode, a web process has a session of the server only during a transaction
(docs/decisions/0061-transaction-pooling.md). Other processes connect directly: their role and their locks belong to a
session.
"""

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core.signals import request_finished, request_started
from django.db import DEFAULT_DB_ALIAS, connections
from django.dispatch import receiver

from . import identity
from .identity import Identity

# What is reset between two callers of a session: what DISCARD ALL resets, except that the plans of functions are kept.
RESET_SESSION = (
    "RESET ALL; RESET ROLE; CLOSE ALL; DEALLOCATE ALL; UNLISTEN *; DISCARD TEMP; DISCARD SEQUENCES; "
    "SELECT pg_catalog.pg_advisory_unlock_all()"
)


class _Connections(threading.local):
    """The connections of this thread by role, and those to read replicas by their address."""

    def __init__(self) -> None:
        self.by_role: dict[str, Any] = {}
        self.by_address: dict[str, Any] = {}


_connections = _Connections()


def has_logins() -> bool:
    """Return whether this process connects separately as each role: only web processes do."""
    return identity.of_process() == identity.NOBODY


def has_pooler() -> bool:
    """Return whether web processes connect to a pooler that gives them a session for each transaction."""
    return bool(settings.RAG_DATABASE_POOLER)


def address_parameters(address: dict[str, Any]) -> dict[str, Any]:
    """Return where a server or its pooler is (as Django's settings say it), as parameters of a connection."""
    parameters = {"host": address.get("HOST"), "port": address.get("PORT"), "dbname": address.get("NAME")}
    return {name: value for name, value in parameters.items() if value} | dict(address.get("OPTIONS", {}))


def use(current: Identity) -> None:
    """Make the connection of the identity's role the thread's default one."""
    if not has_logins():
        return
    role = current.role
    by_role = _connections.by_role
    if role not in by_role:
        by_role[role] = connections.create_connection(DEFAULT_DB_ALIAS)
        by_role[role].role = role
    connections[DEFAULT_DB_ALIAS] = by_role[role]


identity.on_change(use)


def replica_connection(address: dict[str, Any]) -> Any:
    """Return this thread's connection to a read replica, which serves requests of callers only."""
    key = str(address)
    if key not in _connections.by_address:
        connection: Any = connections.create_connection(DEFAULT_DB_ALIAS)
        connection.role, connection.address = identity.NOBODY.role, address
        _connections.by_address[key] = connection
    return _connections.by_address[key]


@contextlib.contextmanager
def use_for_callers(connection: Any) -> Iterator[Any]:
    """Execute the statements of callers in this block on another connection. Yields the one that it replaces."""
    role = identity.NOBODY.role
    previous = _connections.by_role[role]
    _connections.by_role[role] = connection
    use(identity.current())
    try:
        yield previous
    finally:
        _connections.by_role[role] = previous
        use(identity.current())


def close_all() -> None:
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
def _close_connections(**_: object) -> None:
    """Close the connections of sign-in and the admin: few requests use them, and the server allows only so many."""
    for role, connection in _connections.by_role.items():
        if role != identity.NOBODY.role:
            connection.close()
