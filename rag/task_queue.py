"""Sends tasks to the Celery workers by name, when the current transaction is committed."""

import functools
from collections.abc import Sequence
from typing import Any

import structlog
from django.db import transaction
from kombu.exceptions import ChannelError, OperationalError

from ragsite.celery import app

logger = structlog.get_logger(__name__)


def send(task: str, *arguments: object, expires: float | None = None) -> None:
    """Send a task on commit. If the broker is down, nothing is lost: the sweep finds the waiting work and sends again.

    Args:
        task: The name of the task.
        arguments: The positional arguments of the task.
        expires: Seconds after which workers discard the message.
    """
    transaction.on_commit(functools.partial(_publish, task, arguments, expires))


def send_all(task: str, arguments: Sequence[Sequence[object]]) -> None:
    """Send a task on commit once for each tuple of arguments. If the broker is down, only the first one is tried."""
    transaction.on_commit(lambda: all(_publish(task, task_arguments, None) for task_arguments in arguments))


def _publish(task: str, arguments: Sequence[object], expires: float | None) -> bool:
    try:
        app.send_task(task, args=arguments, expires=expires)
    except OperationalError as error:
        logger.warning("broker_unreachable", task=task, reason=type(error).__name__)
        return False
    return True


def count_waiting() -> int | None:
    """Return the number of messages that wait in the ingestion queue; None if the broker does not answer."""
    try:
        with app.connection_for_read() as connection:
            channel: Any = connection.default_channel
            return int(channel._size(app.conf.task_default_queue))  # queue_declare(passive=True) ignores the key prefix
    except OperationalError:
        return None
    except ChannelError:  # the queue does not exist before the first message
        return 0
