"""The chunk stores that must pass the conformance tests."""

import pytest

from rag.providers.stores.base import ChunkStore

from .conformance import STORES


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest) -> ChunkStore:
    return STORES[request.param]()
