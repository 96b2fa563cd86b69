"""The Celery application with a real Redis: what happens to messages when a connection is lost."""

from typing import Any

import pytest
from kombu.message import Message

from ragsite.celery import app


@pytest.mark.parametrize("requeue", [None, False, True])
def test_a_message_of_a_closed_channel_can_be_acknowledged(requeue: bool | None) -> None:
    """Celery does so for tasks that it cancelled while Redis was away. An error would end the worker."""
    with app.connection_for_write() as connection:
        channel: Any = connection.channel()
        with connection.SimpleQueue("test-of-closed-channels", channel=channel) as queue:
            queue.put({"number": 1})
            message: Message = queue.get(timeout=5)
            channel.close()
            if requeue is None:
                message.ack()
            else:
                message.reject(requeue=requeue)
            assert message.acknowledged


def test_a_message_of_an_open_channel_is_acknowledged() -> None:
    with app.connection_for_write() as connection:
        channel: Any = connection.channel()
        with connection.SimpleQueue("test-of-open-channels", channel=channel) as queue:
            queue.put({"number": 1})
            message: Message = queue.get(timeout=5)
            assert channel.client.hget("unacked", message.delivery_tag)
            message.ack()
            assert not channel.client.hget("unacked", message.delivery_tag)
