"""An endpoint on this machine that sends what a test says."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.servers.broken_http_server import BrokenHttpServer


@pytest.fixture
def upstream() -> Iterator[BrokenHttpServer]:
    with BrokenHttpServer().running() as server:
        yield server


@pytest.fixture(autouse=True)
def private_hosts(settings: Any) -> None:
    settings.RAG_ALLOWED_PRIVATE_HOSTS = ["127.0.0.1"]
