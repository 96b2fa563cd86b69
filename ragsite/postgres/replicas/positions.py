"""Positions in PostgreSQL's write-ahead log (WAL) that a replica must have replayed before it may serve a caller.

A position is the number of bytes that were written since the log began. Redis has one for each user and organisation:
where the log was when they last changed something, or saw what others had changed. What Redis had lost is replaced by
the position at which that was noticed.
"""

import functools
import math
import threading
import time
import uuid
from collections import deque
from collections.abc import Iterable

import redis
import structlog
from django.conf import settings
from django.db import Error, connection
from redis.backoff import NoBackoff
from redis.retry import Retry

from ragsite.postgres import identity

logger = structlog.get_logger(__name__)

CURRENT_POSITION = "(pg_catalog.pg_current_wal_insert_lsn() - '0/0')::bigint"
# Members of the sorted set besides users and organisations. One shows that Redis has lost nothing. The other one is a
# position for everybody.
_COMPLETE, _EVERYBODY = "complete", "everybody"
_TIMEOUT_SECONDS = 0.5
# How long Redis is left alone after it did not answer.
_PAUSE_SECONDS = 2.0
_SAMPLES = 10

_paused_until = 0.0


class _History:
    """The latest positions of the primary that this process has read, from which follows how far a replica may lag."""

    def __init__(self) -> None:
        self._samples: deque[tuple[float, int]] = deque()
        self._lock = threading.Lock()

    def add(self, position: int) -> None:
        now, max_lag = time.monotonic(), settings.RAG_REPLICA_MAX_LAG_SECONDS
        with self._lock:
            if not self._samples or now - self._samples[-1][0] > max_lag / _SAMPLES:
                self._samples.append((now, position))
            while len(self._samples) > 1 and now - self._samples[1][0] > max_lag:
                self._samples.popleft()

    def least(self, current: int) -> int:
        """Return the least position of a replica that is not too far behind, given the primary's current one."""
        oldest = time.monotonic() - settings.RAG_REPLICA_MAX_LAG_SECONDS
        with self._lock:
            return next((position for read_at, position in self._samples if read_at >= oldest), current)

    def passed(self) -> int:
        """Return a position that every replica has passed that is not too far behind."""
        oldest = time.monotonic() - settings.RAG_REPLICA_MAX_LAG_SECONDS
        with self._lock:
            return next((position for read_at, position in self._samples if read_at < oldest), 0)


_history = _History()


def note_seen(user_id: uuid.UUID) -> None:
    """Note that the user has seen the primary as it is now: later searches find what it contains."""
    with identity.run_as(identity.NOBODY):
        _note(f"user:{user_id}")


def note_changed(organization_id: uuid.UUID) -> None:
    """Note that documents of the organisation have changed: later searches in it find the changes."""
    if settings.RAG_DATABASE_REPLICAS:
        _note(f"organization:{organization_id}")


def _note(member: str) -> None:
    try:
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT {CURRENT_POSITION}")
            (position,) = cursor.fetchone()
        _history.add(position)
        with _client(settings.REDIS_URL).pipeline() as pipeline:
            pipeline.zadd(_key(), {member: position}, gt=True)
            # They restrict nothing any more.
            pipeline.zremrangebyscore(_key(), "-inf", f"({_history.passed()}")
            pipeline.execute()
    except (Error, redis.RedisError) as error:
        # A search may miss a change for as long as a replica may be behind.
        logger.warning("replica_position_not_noted", error=type(error).__name__)


def least_position(current: int, user_id: uuid.UUID, organization_ids: Iterable[uuid.UUID]) -> int | None:
    """Return the least position of a replica that may serve a search.

    Args:
        current: The primary's position, read at the start of the search.
        user_id: Who searches.
        organization_ids: The organisations whose sources are searched.

    Returns:
        The position; None if no replica may serve it, because Redis does not answer or has lost data.
    """
    global _paused_until
    _history.add(current)
    if time.monotonic() < _paused_until:
        return None
    members = [_COMPLETE, _EVERYBODY, f"user:{user_id}", *(f"organization:{key}" for key in organization_ids)]
    try:
        client = _client(settings.REDIS_URL)
        is_complete, *noted = client.zmscore(_key(), members)
        if is_complete is None:
            client.zadd(_key(), {_COMPLETE: math.inf, _EVERYBODY: current}, gt=True)
            return None
    except redis.RedisError as error:
        _paused_until = time.monotonic() + _PAUSE_SECONDS
        logger.warning("replica_positions_unknown", error=type(error).__name__)
        return None
    return max(_history.least(current), *(int(position or 0) for position in noted))


def _key() -> str:
    return f"ragsite:replica-positions:{connection.settings_dict['NAME']}"


@functools.cache
def _client(url: str) -> redis.Redis:
    return redis.Redis.from_url(
        url,
        socket_timeout=_TIMEOUT_SECONDS,
        socket_connect_timeout=_TIMEOUT_SECONDS,
        retry=Retry(NoBackoff(), 0),
    )
