"""The queues in Redis: how many messages wait, and how old the oldest is."""

import json
import time
from dataclasses import dataclass

import redis
from django.conf import settings
from redis.backoff import NoBackoff
from redis.retry import Retry

# The time for connecting and for each answer: the page that shows the queues must not wait for a server that hangs.
_TIMEOUT_SECONDS = 0.25


@dataclass(frozen=True, slots=True)
class QueueState:
    """A queue of the broker.

    Attributes:
        depth: How many messages wait for a worker.
        oldest_age_seconds: Seconds since the oldest of them was published; None if no message waits or its age is
            unknown.
    """

    name: str
    depth: int
    oldest_age_seconds: float | None


def list_queues() -> list[QueueState] | None:
    """Return the queues; None if Redis does not answer in time."""
    prefix = str(settings.CELERY_BROKER_TRANSPORT_OPTIONS["global_keyprefix"])
    names = [queue.name for queue in settings.CELERY_TASK_QUEUES]
    client = redis.Redis.from_url(
        settings.REDIS_URL,
        socket_timeout=_TIMEOUT_SECONDS,
        socket_connect_timeout=_TIMEOUT_SECONDS,
        retry=Retry(NoBackoff(), 0),
    )
    try:
        with client.pipeline(transaction=False) as pipeline:
            for name in names:
                pipeline.llen(prefix + name)
                pipeline.lindex(prefix + name, -1)  # workers take messages from the right
            answers = pipeline.execute()
    except redis.RedisError:
        return None
    finally:
        client.close()
    return [
        QueueState(name, int(depth), _age_seconds(message))
        for name, depth, message in zip(names, answers[::2], answers[1::2], strict=True)
    ]


def _age_seconds(message: bytes | None) -> float | None:
    """Return the seconds since a message was published, by the header that ragsite.celery adds; None if unknown."""
    try:
        return max(0.0, time.time() - float(json.loads(message or b"{}")["headers"]["published_at"]))
    except (ValueError, KeyError, TypeError):
        return None
