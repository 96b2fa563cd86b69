"""The chunk stores that must pass the conformance tests."""

import importlib
import os
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from rag.models import EmbeddingModel
from rag.providers import provider_factory
from rag.providers.stores.base import ChunkStore
from rag.providers.stores.qdrant import collection, outbox
from rag.providers.stores.qdrant.client import QdrantClient
from rag.providers.stores.qdrant.store import QdrantStore
from rag.providers.stores.search_types import Candidates, ScopeQuery
from rag.types import Mode
from tests.support.factories import World
from tests.support.servers.qdrant_server import QdrantServer

from .conformance import STORES


@pytest.fixture(scope="session")
def qdrant_server() -> Iterator[QdrantServer]:
    kind = QdrantServer
    if os.environ.get("QDRANT_ENGINE") == "edge":  # needs the wheel qdrant-edge-py
        kind = importlib.import_module("tests.support.servers.qdrant_edge_server").QdrantEdgeServer
    with kind().running() as server:
        yield server


@pytest.fixture
def qdrant(qdrant_server: QdrantServer) -> Iterator[QdrantServer]:
    """The server without collections."""
    qdrant_server.clear()
    qdrant_server.is_down, qdrant_server.drops = False, 0
    yield qdrant_server
    errors, qdrant_server.errors = qdrant_server.errors, []
    if errors:
        raise ExceptionGroup("the server failed", errors)


@pytest.fixture
def configured_qdrant(qdrant: QdrantServer, settings: Any) -> QdrantStore:
    """The store over that server, before changes are recorded."""
    settings.VECTOR_STORE, settings.QDRANT_URL = "qdrant", qdrant.url
    settings.QDRANT_COLLECTION_PREFIX = f"test_{uuid.uuid4().hex}"
    return provider_factory.qdrant_store()


@pytest.fixture
def qdrant_store(configured_qdrant: QdrantStore, world: World) -> QdrantStore:
    """The store over that server, while changes are recorded."""
    outbox.switch_recording(on=True)
    return configured_qdrant


class CopyingStore(QdrantStore):
    """Copies what is written before it searches: most tests never commit."""

    def search(self, text: str, queries: Sequence[ScopeQuery], *, mode: Mode, limit: int) -> list[Candidates]:
        self.apply_changes(limit=1000)
        return super().search(text, queries, mode=mode, limit=limit)


@pytest.fixture
def copying_store(request: pytest.FixtureRequest, settings: Any) -> Iterator[ChunkStore]:
    """The store over the local mode, or over the server of QDRANT_URL with collections that it deletes."""
    request.getfixturevalue("live_world" if "live_world" in request.fixturenames else "world")
    settings.QDRANT_COLLECTION_PREFIX = f"test_{uuid.uuid4().hex}"
    url = os.environ.get("QDRANT_URL") or request.getfixturevalue("qdrant").url
    client = QdrantClient(url, api_key=os.environ.get("QDRANT_API_KEY", ""), timeout=10)
    outbox.switch_recording(on=True)
    yield CopyingStore(client, exact_limit=20_000)
    if "live_world" in request.fixturenames:
        outbox.switch_recording(on=False)
    for model in EmbeddingModel.objects.all():
        if collection.name(model.pk) in client.collections():
            client.delete_collection(collection.name(model.pk))


@pytest.fixture(params=[*STORES, "qdrant"])
def store(request: pytest.FixtureRequest) -> ChunkStore:
    if request.param != "qdrant":
        return STORES[request.param]()
    copying_store: ChunkStore = request.getfixturevalue("copying_store")
    return copying_store
