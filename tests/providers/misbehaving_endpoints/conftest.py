"""An endpoint on this machine that sends what a test says."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.servers.upstream import Upstream


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with Upstream().running() as server:
        yield server


@pytest.fixture(autouse=True)
def private_hosts(settings: Any) -> None:
    settings.RAG_ALLOWED_PRIVATE_HOSTS = ["127.0.0.1"]
