"""Searches on read replicas that lag behind Qdrant, which has the points of what the primary has committed."""

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import DatabaseError, connection
from psycopg.errors import QueryCanceled

from orgs.access.caller import Caller
from rag.errors import IndexUnavailable
from rag.providers import provider_factory
from rag.providers.stores.qdrant import confirm_found_points
from rag.types import Mode
from ragsite.postgres.replicas import positions
from tests.access.database.replicas.replica_searches import SearchOutcome, search
from tests.support.factories import World, ingest_text
from tests.support.servers.qdrant_server import QdrantServer
from tests.support.servers.replicas import Replica


@pytest.fixture
def qdrant(live_world: World, settings: Any) -> Iterator[QdrantServer]:
    """Qdrant, in which searches find candidates."""
    with QdrantServer().running() as server:
        settings.VECTOR_STORE, settings.QDRANT_URL = "qdrant", server.url
        settings.QDRANT_COLLECTION_PREFIX = f"test_{uuid.uuid4().hex}"
        store = provider_factory.qdrant_store()
        store.switch_recording(on=True)
        yield server
        store.switch_recording(on=False)
        assert not server.errors


@pytest.fixture
def paused(
    qdrant: QdrantServer, live_world: World, replicas: list[Replica], in_sync: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[dict[str, uuid.UUID | None]]:  # fmt: skip
    """Documents, of which the replicas do not know the new ones or the new versions, and still serve searches.

    This is so for a search that begins before the change, and while Redis does not take the position of the change.
    """
    source = live_world.source()
    for path in ("kept", "replaced"):
        ingest_text(source, path, "animals of old")
    search(Caller(live_world.users["member"]))
    in_sync()
    for replica in replicas:
        replica.pause()
    with monkeypatch.context() as patched:
        patched.setattr(positions, "_note_current_position", lambda member: None)
        yield {path: ingest_text(source, path, f"{path} animals").document_id for path in ("kept", "replaced", "new")}


def test_points_that_a_replica_does_not_know(live_world: World, paused: dict[str, uuid.UUID | None]) -> None:
    """A replaced document has new points only, so it would be found neither as it was nor as it is."""
    member, foreigner = (Caller(live_world.users[name]) for name in ("member", "foreigner"))
    for mode in Mode:
        assert search(member, mode=mode) == SearchOutcome(set(paused.values()), used_replica=True)
        assert search(foreigner, mode=mode).document_ids == set()


def test_what_a_replica_confirms_is_not_read_twice(
    live_world: World, paused: dict[str, uuid.UUID | None], replicas: list[Replica], in_sync: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    scored: list[tuple[bool, int]] = []
    score = confirm_found_points.score_chunks

    def watch(*arguments: Any) -> Any:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_is_in_recovery()")
            scored.append((cursor.fetchone()[0], len(arguments[-1])))
        return score(*arguments)

    monkeypatch.setattr(confirm_found_points, "score_chunks", watch)
    search(Caller(live_world.users["member"]))
    assert scored == [(True, 3), (False, 3)]
    scored.clear()
    for replica in replicas:
        replica.resume()
    in_sync()
    assert search(Caller(live_world.users["member"])) == SearchOutcome(set(paused.values()), used_replica=True)
    assert scored == [(True, 3)]


def test_a_primary_that_fails_to_confirm(
    live_world: World, paused: dict[str, uuid.UUID | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The search is not repeated on it."""
    score, scored = confirm_found_points.score_chunks, []

    def fail_on_primary(*arguments: Any) -> Any:
        scored.append(len(arguments[-1]))
        if len(scored) > 1:
            raise DatabaseError from QueryCanceled("statement timeout")
        return score(*arguments)

    monkeypatch.setattr(confirm_found_points, "score_chunks", fail_on_primary)
    with pytest.raises(IndexUnavailable):
        search(Caller(live_world.users["member"]))
    assert scored == [3, 3]
