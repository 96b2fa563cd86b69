"""Sends work to the workers, by name, once the rows that it is about are committed."""

import functools
from collections.abc import Sequence
from typing import Any

import structlog
from django.db import transaction
from kombu.exceptions import ChannelError, OperationalError

from ragsite.celery import app

logger = structlog.get_logger(__name__)


def send(task: str, *arguments: Any, expires: float | None = None) -> None:
    """Publish after the commit. With the broker down nothing is lost: the sweep finds the rows and sends again.

    expires: seconds after which no worker needs to begin.
    """
    transaction.on_commit(functools.partial(_publish, task, arguments, expires))


def send_all(task: str, arguments: Sequence[Sequence[Any]]) -> None:
    """A message for each. With the broker down only the first is tried."""
    transaction.on_commit(lambda: all(_publish(task, each, None) for each in arguments))


def _publish(task: str, arguments: Sequence[Any], expires: float | None) -> bool:
    try:
        app.send_task(task, args=arguments, expires=expires)
    except OperationalError as error:
        logger.warning("broker_unreachable", task=task, reason=type(error).__name__)
        return False
    return True


def count_waiting() -> int | None:
    """How many messages wait for a worker; None if the broker does not say."""
    try:
        with app.connection_for_read() as connection:
            channel: Any = connection.default_channel
            return int(channel._size(app.conf.task_default_queue))  # a passive declaration overlooks our key prefix
    except OperationalError:
        return None
    except ChannelError:  # nothing was ever sent
        return 0
