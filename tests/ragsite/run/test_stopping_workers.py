"""What a worker waits for when it stops."""

from typing import Any

import pytest
from django.conf import settings

from ragsite.run import local_processes


def test_a_dead_connection_to_the_broker_does_not_outlast_the_time_to_stop() -> None:
    """A worker that stops reads the response to its last request for messages, which a dead connection never sends."""
    options: dict[str, Any] = settings.CELERY_BROKER_TRANSPORT_OPTIONS
    assert options["socket_timeout"] < local_processes.stop_timeout_seconds()


def test_make_run_waits_until_the_web_server_has_drained(monkeypatch: pytest.MonkeyPatch) -> None:
    shortest = local_processes.stop_timeout_seconds()
    monkeypatch.setenv("RAG_DRAIN_SECONDS", "30")
    monkeypatch.setenv("RAG_STOP_SECONDS", "60")
    assert shortest < 30 + 60 < local_processes.stop_timeout_seconds()
