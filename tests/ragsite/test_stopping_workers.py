"""What a worker waits for when it stops."""

from typing import Any

from django.conf import settings

from ragsite.run import children


def test_a_dead_connection_to_the_broker_does_not_outlast_the_time_to_stop() -> None:
    """A worker that stops reads the response to its last request for messages, which a dead connection never sends."""
    options: dict[str, Any] = settings.CELERY_BROKER_TRANSPORT_OPTIONS
    assert options["socket_timeout"] < children._STOP_TIMEOUT_SECONDS
