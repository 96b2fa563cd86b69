import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rag.providers import provider_factory
from rag.providers.stores.qdrant import outbox
from tests.access import check_counts
from tests.support.servers.qdrant_server import QdrantServer


@pytest.fixture
def copy_to_index(db: None, settings: Any) -> Iterator[Callable[[], None]]:
    """Copy what was written to the search index that PROVE_STORE names; searches use it. PostgreSQL needs no copies."""
    if os.environ.get("PROVE_STORE", "pgvector") != "qdrant":
        yield lambda: None
        return
    with QdrantServer().running() as server:
        settings.VECTOR_STORE, settings.QDRANT_URL = "qdrant", server.url
        outbox.switch_recording(on=True)

        def copy() -> None:
            server.clear()
            assert provider_factory.qdrant_store().apply_changes(limit=10_000)
            check_counts.count("worlds copied to Qdrant")

        yield copy


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if check_counts.counted:
        terminalreporter.section("proved")
        for what, times in check_counts.counted.items():
            terminalreporter.write_line(f"{times:>9,} {what}")
