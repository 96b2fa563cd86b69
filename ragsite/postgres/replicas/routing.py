"""Executes a caller's reads on a replica that has all that the caller must see, otherwise on the primary."""

import contextlib
import random
import threading
import time
import uuid
from collections.abc import Callable, Collection, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar

import psycopg
import structlog
from django.conf import settings
from django.db import Error, connection
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg.errors import SerializationFailure

from ragsite.observability import measurement_buffer
from ragsite.postgres import identity, role_connections
from ragsite.postgres.role_connections import Server

from . import positions
from .bounded_waits import ANSWER_SECONDS, SEARCH_SECONDS

T = TypeVar("T")
logger = structlog.get_logger(__name__)

# With the version of what decides access, for a user and organisations.
_PRIMARY_STATE = f"SELECT rag_access_version(%s::uuid[]), {positions.CURRENT_POSITION}"
_REPLICA_STATE = (
    "SELECT rag_access_version(%s::uuid[]), (pg_catalog.pg_last_wal_replay_lsn() - '0/0')::bigint "
    "WHERE pg_catalog.pg_is_in_recovery()"
)
# How long a replica that was behind is not asked again.
_PAUSE_SECONDS = 0.1
# How long a replica that has failed is not asked again, and the pause between two attempts to connect to it.
_RETRY_SECONDS = 2.0

# Whether the request has read something that a replica may serve.
_has_read: ContextVar[bool] = ContextVar("has_read", default=False)


@dataclass
class _Reading:
    """What is being executed on a replica."""

    primary: BaseDatabaseWrapper | None = None  # the connection that it replaces
    has_primary_failed: bool = False


_reading: ContextVar[_Reading | None] = ContextVar("reading", default=None)


class Replica:
    """What this process knows of a replica."""

    def __init__(self, address: Server) -> None:
        self._address = address
        self._is_down = False
        self._lock = threading.Lock()
        self._position, self._asked_again_at = 0, 0.0

    @property
    def connection(self) -> Any:
        return role_connections.replica_connection(self._address)

    def has(self, position: int, subjects: list[uuid.UUID], access_version: int) -> bool:
        """Return whether the replica has replayed the log up to this position, and these subjects' access rights."""
        was_behind = self._position < position and time.monotonic() < self._asked_again_at
        if self._is_down or was_behind:
            return False
        try:
            with role_connections.use_for_callers(self.connection), connection.cursor() as cursor:
                cursor.execute(_REPLICA_STATE, [subjects])
                row = cursor.fetchone()
        except Error as error:
            self.note_failure(error)
            # If it answers with an error, it may not have replayed a migration.
            self._position, self._asked_again_at = 0, time.monotonic() + _RETRY_SECONDS
            return False
        replica_version, self._position = row or (None, 0)
        self._asked_again_at = time.monotonic() + _PAUSE_SECONDS
        return bool(row) and self._position >= position and replica_version == access_version

    def note_failure(self, error: Exception) -> None:
        """Leave the replica out if the connection is lost, unless it only cancelled a search that delayed replay."""
        cause = _database_error(error)
        logger.warning("replica_failed", error=type(cause).__name__)
        if not self.connection.is_usable():
            self.connection.close()
            if not isinstance(cause, SerializationFailure):
                self.leave_out()

    @contextlib.contextmanager
    def in_search(self) -> Iterator[BaseDatabaseWrapper]:
        """Execute the statements of callers in this block on it. Yields the connection to the primary."""
        replica = self.connection
        replica.max_wait_seconds = SEARCH_SECONDS
        try:
            with role_connections.use_for_callers(replica) as primary:
                yield primary
        finally:
            replica.max_wait_seconds = ANSWER_SECONDS

    def leave_out(self) -> None:
        """Do not use it until it answers again."""
        with self._lock:
            if self._is_down:
                return
            self._is_down = True
        logger.warning("replica_left_out", host=self._address.get("HOST"))
        threading.Thread(target=self._wait_until_it_answers, daemon=True).start()

    def _wait_until_it_answers(self) -> None:
        while self._is_down:
            time.sleep(_RETRY_SECONDS)
            replica = self.connection
            with contextlib.suppress(Error), replica.wrap_database_errors:
                replica.ensure_connection()
                replica.connection.execute("SELECT")  # a pooler accepts connections while its server is down
                self._is_down = False
            replica.close()
        logger.info("replica_back", host=self._address.get("HOST"))


_replicas: dict[str, Replica] = {}


def read(function: Callable[[], T], organization_ids: Collection[uuid.UUID]) -> T:
    """Return what the function returns. It is executed on a replica if one may serve the caller, else on the primary.

    If the replica fails or cancels a statement, it is executed again on the primary, once. An error of the primary is
    the result: a statement that was too long there would be too long again.

    Args:
        function: Begins its own transactions, and only reads.
        organization_ids: The organisations whose documents it reads.
    """
    _has_read.set(True)
    replica = _choose_replica(organization_ids)
    if replica is None:
        return function()
    reading, started = _Reading(), time.perf_counter()
    token = _reading.set(reading)
    try:
        with replica.in_search() as reading.primary:
            result = function()
    except Exception as error:
        if reading.has_primary_failed or not _database_error(error):
            raise
        replica.note_failure(error)
    else:
        milliseconds = (time.perf_counter() - started) * 1000
        measurement_buffer.record("query_stage", "search_on_replica", milliseconds)
        return result
    finally:
        _reading.reset(token)
    return function()


def _database_error(error: BaseException | None) -> psycopg.Error | None:
    """Return the database's error that this one was made from, if there is one."""
    if error is None or isinstance(error, psycopg.Error):
        return error
    return _database_error(error.__cause__)


def is_on_replica() -> bool:
    """Return whether a replica executes what `read` was given."""
    return _reading.get() is not None


@contextlib.contextmanager
def on_primary() -> Iterator[None]:
    """Execute the statements of callers in this block on the primary, even within `read`."""
    reading = _reading.get()
    if reading is None or reading.primary is None:
        yield
        return
    with role_connections.use_for_callers(reading.primary):
        try:
            yield
        except Error:
            reading.has_primary_failed = True
            raise


def start_request() -> None:
    """Forget what an earlier request of this thread has read."""
    _has_read.set(False)


def end_request() -> None:
    """Let later searches of the caller find what this request may have changed or shown, before it is answered.

    A search changes and shows nothing that was not noted before.
    """
    user_id = identity.current().user
    if settings.RAG_DATABASE_REPLICAS and user_id and not _has_read.get():
        positions.note_seen(user_id)


def _choose_replica(organization_ids: Collection[uuid.UUID]) -> Replica | None:
    """Return a replica with all that the caller must see; None if there is none, or this process uses none.

    The caller must see all changes that decide their access in the organisations, what they have changed or seen
    before, what workers have written in the organisations, and what the primary had RAG_REPLICA_MAX_LAG_SECONDS ago.
    """
    caller = identity.current()
    if not settings.RAG_DATABASE_REPLICAS or not role_connections.has_logins() or connection.in_atomic_block:
        return None
    if caller.role != identity.READER_ROLE or caller.user is None:
        return None
    subjects = [caller.user, *organization_ids]
    with identity.run_as(identity.ANONYMOUS):  # these statements need no caller, and so no transaction
        with connection.cursor() as cursor:
            cursor.execute(_PRIMARY_STATE, [subjects])
            access_version, current = cursor.fetchone()
        position = positions.minimum_position(current, caller.user, organization_ids)
        if position is None:
            return None
        replicas = [_replicas.setdefault(str(address), Replica(address)) for address in settings.RAG_DATABASE_REPLICAS]
        for replica in random.sample(replicas, len(replicas)):
            if replica.has(position, subjects, access_version):
                return replica
    return None
