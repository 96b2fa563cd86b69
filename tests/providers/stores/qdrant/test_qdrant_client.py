"""Requests to Qdrant: what it answers is not trusted, and wrong settings are refused."""

import importlib
import uuid
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from rag.errors import IndexUnavailable
from rag.providers.stores.qdrant import points
from rag.providers.stores.qdrant.client import QdrantClient
from rag.providers.stores.qdrant.store import QdrantStore
from ragsite.settings.rag import vector_store
from tests.support.factories import World, ingest_text
from tests.support.servers.qdrant_server import QdrantServer

from .qdrant_helpers import found_by

_TOO_LARGE = [{"points": [{"id": str(uuid.uuid4()), "score": 10**400}]}] * 2
_NAN = [{"points": [{"id": str(uuid.uuid4()), "score": float("nan")}]}] * 2


def test_a_request_is_sent_again_if_its_connection_closes_before_the_response(qdrant: QdrantServer) -> None:
    client = QdrantClient(qdrant.url, api_key="", timeout=10)
    assert client.collections() == set()
    qdrant.drops = 1
    assert client.collections() == set()
    qdrant.drops = 3
    with pytest.raises(IndexUnavailable):
        client.collections()
    assert qdrant.drops == 1  # no third request


@pytest.mark.parametrize(
    "result",
    [
        None,
        [],
        {},
        [{"points": None}],
        [{"points": [{"id": 7}]}],
        [{"points": ["x"]}],
        [{"points": []}] * 3,
        "text",
        _NAN,
        _TOO_LARGE,
    ],
)
def test_a_search_does_not_trust_the_form_of_a_response(
    qdrant_store: QdrantStore, world: World, qdrant: QdrantServer, result: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = world.source()
    ingest_text(source, "a", "A zebra.")
    monkeypatch.setattr(qdrant, "answer", lambda *request: (200, result))
    with pytest.raises(IndexUnavailable):
        found_by(world, "owner", source)
    assert not qdrant_store.is_available()


def test_no_more_results_are_looked_up_than_were_asked_for(
    qdrant_store: QdrantStore, qdrant: QdrantServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [uuid.uuid4() for _ in range(5)]
    results = [{"points": [{"id": str(pk), "score": 0.5} for pk in (ids[0], *ids)]}]
    monkeypatch.setattr(qdrant, "answer", lambda *request: (200, results))
    assert qdrant_store._client.query("any", [{"limit": 3}]) == [dict.fromkeys(ids[:2], 0.5)]


def test_pages_that_do_not_go_on_are_refused(
    qdrant_store: QdrantStore, qdrant: QdrantServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that copied documents asked for the same page for ever."""
    pages: list[Any] = []

    def repeat_page(*request: Any) -> tuple[int, Any]:
        pages.append({"points": [], "next_page_offset": str(uuid.UUID(int=1))})
        return (200, pages[-1]) if len(pages) < 9 else (200, {"points": []})

    monkeypatch.setattr(qdrant, "answer", repeat_page)
    with pytest.raises(IndexUnavailable):
        list(points.read_digests(qdrant_store._client, "any", [uuid.uuid4()]))


@pytest.mark.parametrize(
    ("store_name", "url"),
    [("milvus", ""), ("qdrant", ""), ("qdrant", ":memory:"), ("qdrant", "/var/lib/qdrant"), ("qdrant", "ftp://q")],
)
def test_wrong_settings_are_refused(monkeypatch: pytest.MonkeyPatch, store_name: str, url: str) -> None:
    with monkeypatch.context() as environment:
        environment.setenv("VECTOR_STORE", store_name)
        environment.setenv("QDRANT_URL", url)
        with pytest.raises(ImproperlyConfigured):
            importlib.reload(vector_store)
    importlib.reload(vector_store)  # the refused values are in the module until it is read with the right ones again
