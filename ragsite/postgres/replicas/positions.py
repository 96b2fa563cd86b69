"""Positions in PostgreSQL's write-ahead log (WAL) that a replica must have replayed before it may serve a caller.

A position is the number of bytes that were written since the log began. Redis has one for each user and organisation:
where the log was when they last changed something, or saw what others had changed. If Redis has lost its data, the
position at which a process noticed the loss counts for everybody.
"""

import contextlib
import functools
import math
import threading
import time
import uuid
from collections import deque
from collections.abc import Iterable, Iterator

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
# How long Redis is not asked again after it did not answer.
_PAUSE_SECONDS = 2.0
_SAMPLES = 10


class History:
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

    def minimum(self, current: int) -> int:
        """Return the minimum position of a replica that is not too far behind, given the primary's current one."""
        oldest = time.monotonic() - settings.RAG_REPLICA_MAX_LAG_SECONDS
        with self._lock:
            return next((position for read_at, position in self._samples if read_at >= oldest), current)

    def passed(self) -> int:
        """Return a position that every replica has passed, except those that are too far behind."""
        oldest = time.monotonic() - settings.RAG_REPLICA_MAX_LAG_SECONDS
        with self._lock:
            return next((position for read_at, position in self._samples if read_at < oldest), 0)


class RedisPositions:
    """The positions in Redis. While it does not answer, it is asked every few seconds only, and no request waits."""

    def __init__(self) -> None:
        self._next_try_at = 0.0
        # The latest position that could not be written. When Redis answers again, it counts for everybody.
        self._unwritten = 0

    def write(self, member: str, position: int) -> None:
        """Write a position, and delete those that every usable replica has passed.

        Args:
            member: Whose changes it is of: a user, an organisation or `_EVERYBODY`.
            position: The position in PostgreSQL's log.
        """
        unwritten = self._unwritten
        with self._ask_redis() as may_ask:
            if may_ask:
                with _client(settings.REDIS_URL).pipeline() as pipeline:
                    pipeline.zadd(redis_key(), {member: position, _EVERYBODY: unwritten}, gt=True)
                    pipeline.zremrangebyscore(redis_key(), "-inf", f"({_history.passed()}")
                    pipeline.execute()
                if self._unwritten == unwritten:
                    self._unwritten = 0
                return
        # Redis was not asked, or failed. Until it takes the position, a search may miss a change for as long as a
        # replica may be behind.
        self._unwritten = max(self._unwritten, position)

    def read(self, members: Iterable[str], current: int) -> int | None:
        """Return the latest position of the members; None if Redis is silent or has lost data."""
        with self._ask_redis() as may_ask:
            if not may_ask:
                return None
            if self._unwritten:
                self.write(_EVERYBODY, self._unwritten)
            client = _client(settings.REDIS_URL)
            is_complete, *noted = client.zmscore(redis_key(), [_COMPLETE, _EVERYBODY, *members])
            if is_complete is not None:
                return max(int(position or 0) for position in noted)
            client.zadd(redis_key(), {_COMPLETE: math.inf, _EVERYBODY: current}, gt=True)
        return None

    @contextlib.contextmanager
    def _ask_redis(self) -> Iterator[bool]:
        """Yield whether the block may ask Redis. If Redis is silent, the block ends, and nobody asks for a while."""
        may_ask = time.monotonic() >= self._next_try_at
        try:
            yield may_ask
        except redis.RedisError as error:
            self._next_try_at = time.monotonic() + _PAUSE_SECONDS
            logger.warning("replica_positions_unknown", error=type(error).__name__)


_history = History()
_redis_positions = RedisPositions()


def note_seen(user_id: uuid.UUID) -> None:
    """Note that the user has seen the primary as it is now: later searches find what it contains."""
    with identity.run_as(identity.ANONYMOUS):
        _note_current_position(f"user:{user_id}")


def note_changed(organization_id: uuid.UUID) -> None:
    """Note that documents of the organisation have changed: later searches in it find the changes."""
    if settings.RAG_DATABASE_REPLICAS:
        _note_current_position(f"organization:{organization_id}")


def _note_current_position(member: str) -> None:
    """Let searches that concern the member use only replicas with all that the primary has now."""
    try:
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT {CURRENT_POSITION}")
            (position,) = cursor.fetchone()
    except Error as error:  # a search may miss a change for as long as a replica may be behind
        logger.warning("replica_position_not_noted", error=type(error).__name__)
        return
    _history.add(position)
    _redis_positions.write(member, position)


def minimum_position(current: int, user_id: uuid.UUID, organization_ids: Iterable[uuid.UUID]) -> int | None:
    """Return the minimum position of a replica that may serve a search.

    Args:
        current: The primary's position, read at the start of the search.
        user_id: Who searches.
        organization_ids: The organisations whose sources are searched.

    Returns:
        The position; None if no replica may serve it, because Redis does not answer or has lost data.
    """
    _history.add(current)
    noted = _redis_positions.read([f"user:{user_id}", *(f"organization:{key}" for key in organization_ids)], current)
    return None if noted is None else max(_history.minimum(current), noted)


def redis_key() -> str:
    """Return the key of the sorted set in Redis: each database has its own."""
    return f"ragsite:replica-positions:{connection.settings_dict['NAME']}"


@functools.cache
def _client(url: str) -> redis.Redis:
    return redis.Redis.from_url(
        url,
        socket_timeout=_TIMEOUT_SECONDS,
        socket_connect_timeout=_TIMEOUT_SECONDS,
        retry=Retry(NoBackoff(), 0),
    )
