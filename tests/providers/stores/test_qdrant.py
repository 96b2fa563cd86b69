"""The store in Qdrant: what PostgreSQL refuses is not found, and nothing is lost between the two."""

import importlib
import io
import uuid
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.db import transaction
from django.utils import timezone

from rag.errors import IndexUnavailable
from rag.models import Chunk, Document, Grant
from rag.models.content.index_outbox import IndexChange
from rag.providers.stores.qdrant import collection, outbox
from rag.providers.stores.qdrant.client import QdrantClient
from rag.providers.stores.qdrant.store import QdrantStore
from rag.services.maintenance import apply_index_changes
from ragsite.settings.rag import vector_store
from tests.support.factories import World, ingest_text
from tests.support.servers.qdrant_server import QdrantServer

from .qdrant_helpers import chunk_of, found_by, points

_NAN = [{"points": [{"id": str(uuid.uuid4()), "score": float("nan")}]}] * 2


def test_a_point_that_claims_another_source_shows_nothing(
    qdrant_store: QdrantStore, world: World, qdrant: QdrantServer
) -> None:
    public, hidden = world.source("open"), world.source("hidden", visibility="personal")
    for source in (public, hidden):
        ingest_text(source, "a", f"A zebra in {source.slug}.")
    qdrant_store.apply_changes(limit=100)
    assert found_by(world, "member", public, hidden) == {chunk_of(public)}
    forged = {"source": str(public.pk), "organization": str(public.organization_id)}
    name = collection.name(public.embedding_model_id)
    qdrant.engine.set_payload(name, forged, points=[str(chunk_of(hidden))])
    assert found_by(world, "member", public, hidden) == {chunk_of(public)}
    assert found_by(world, "member", public) == {chunk_of(public)}


def test_a_revoked_grant_applies_at_once(qdrant_store: QdrantStore, world: World, qdrant: QdrantServer) -> None:
    source = world.source("private", visibility="private")
    ingest_text(source, "a", "A zebra.")
    qdrant_store.apply_changes(limit=100)
    assert found_by(world, "member", source) == set()
    grant = Grant.objects.create(source=source, user=world.users["member"])
    assert found_by(world, "member", source) == {chunk_of(source)}
    grant.delete()
    assert found_by(world, "member", source) == set()


def test_points_of_deleted_chunks_are_not_found_and_then_deleted(
    qdrant_store: QdrantStore, world: World, qdrant: QdrantServer
) -> None:
    source = world.source()
    document = ingest_text(source, "a", "A zebra.")
    qdrant_store.apply_changes(limit=100)
    chunk_id = chunk_of(source)
    qdrant_store.delete_document_chunks(list(Chunk.objects.values_list("document_id", flat=True)), limit=10)
    assert [point.id for point in points(qdrant, source.embedding_model)] == [str(chunk_id)]
    assert found_by(world, "owner", source) == set(), document
    assert qdrant_store.apply_changes(limit=100)
    assert points(qdrant, source.embedding_model) == []


def test_a_replaced_document_is_found_before_it_is_copied(
    qdrant_store: QdrantStore, world: World, qdrant: QdrantServer
) -> None:
    source, hidden = world.source(), world.source("hidden", visibility="personal")
    for where in (source, hidden):
        ingest_text(where, "a", "A zebra.")
    qdrant_store.apply_changes(limit=100)
    old = chunk_of(source)
    for where in (source, hidden):
        ingest_text(where, "a", "Another zebra.")
    assert found_by(world, "member", source, hidden) == {chunk_of(source)} != {old}
    Document.objects.filter(source=source).update(deleted_at=timezone.now())
    assert found_by(world, "member", source, hidden) == set()


def test_a_document_is_found_that_is_replaced_and_copied_during_a_search(
    qdrant_store: QdrantStore, world: World, qdrant: QdrantServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = world.source()
    ingest_text(source, "a", "A zebra.")
    qdrant_store.apply_changes(limit=100)

    def query_and_replace(*arguments: Any) -> list[dict[uuid.UUID, float]]:
        ids = query(*arguments)
        monkeypatch.setattr(QdrantClient, "query", query)
        ingest_text(source, "a", "Another zebra.")
        qdrant_store.apply_changes(limit=100)
        return ids

    query = QdrantClient.query
    monkeypatch.setattr(QdrantClient, "query", query_and_replace)
    assert found_by(world, "owner", source) == {chunk_of(source)}


def test_many_outdated_points_do_not_crowd_out_others(
    qdrant_store: QdrantStore, world: World, qdrant: QdrantServer
) -> None:
    source = world.source()
    ingest_text(source, "a", "A zebra.")
    qdrant_store.apply_changes(limit=100)
    (real,) = points(qdrant, source.embedding_model)
    copies = [{"id": str(uuid.uuid4()), "vector": real.vector, "payload": real.payload} for _ in range(40)]
    qdrant.answer("PUT", f"/collections/{collection.name(source.embedding_model_id)}/points", {"points": copies})
    assert len(points(qdrant, source.embedding_model)) == 41
    assert found_by(world, "owner", source) == {chunk_of(source)}


def test_changes_wait_until_qdrant_answers(qdrant_store: QdrantStore, world: World, qdrant: QdrantServer) -> None:
    source = world.source()
    ingest_text(source, "a", "A zebra.")
    qdrant.is_down = True
    apply_index_changes.apply_changes()
    assert IndexChange.objects.exists()
    assert not qdrant_store.is_available()
    with pytest.raises(IndexUnavailable):
        found_by(world, "owner", source)
    qdrant.is_down = False
    assert qdrant_store.is_available()
    apply_index_changes.apply_changes()
    assert not IndexChange.objects.exists()
    assert found_by(world, "owner", source) == {chunk_of(source)}


def test_documents_that_qdrant_refuses_keep_no_others_back(
    qdrant_store: QdrantStore, world: World, qdrant: QdrantServer
) -> None:
    source, limit = world.source(), 2
    for number in range(limit + 1):
        ingest_text(source, f"refused {number}", "A zebra.")
    refused = {str(pk) for pk in Document.objects.values_list("pk", flat=True)}
    qdrant.refused_documents = set(refused)
    ingest_text(source, "accepted", "Another zebra.")
    for _ in range(IndexChange.objects.count()):  # more are refused than one call reads
        qdrant_store.apply_changes(limit=limit)
    (point,) = points(qdrant, source.embedding_model)
    assert point.payload["document"] not in refused
    apply_index_changes.apply_changes()
    assert {str(pk) for pk in IndexChange.objects.values_list("document_id", flat=True)} == refused, "they wait"
    qdrant.refused_documents.clear()
    apply_index_changes.apply_changes()
    assert not IndexChange.objects.exists()
    assert len(points(qdrant, source.embedding_model)) == limit + 2


def test_a_move_goes_on_after_documents_that_qdrant_refuses(
    qdrant_store: QdrantStore, world: World, qdrant: QdrantServer
) -> None:
    source = world.source()
    for name in ("refused", "accepted"):
        ingest_text(source, name, "A zebra.")
    refused, accepted = (Document.objects.get(path=name) for name in ("refused", "accepted"))
    IndexChange.objects.all().delete()
    qdrant.refused_documents = {str(refused.pk)}
    assert qdrant_store.copy_documents(after=uuid.UUID(int=0), limit=10)
    apply_index_changes.apply_changes()
    assert [point.payload["document"] for point in points(qdrant, source.embedding_model)] == [str(accepted.pk)]
    assert IndexChange.objects.get().document_id == refused.pk


def test_a_crash_after_the_copy_repeats_nothing(qdrant_store: QdrantStore, world: World, qdrant: QdrantServer) -> None:
    source = world.source()
    ingest_text(source, "a", "A zebra.")
    with transaction.atomic():
        qdrant_store.apply_changes(limit=100)
        transaction.set_rollback(True)  # PostgreSQL forgets that the points were written
    assert IndexChange.objects.exists()
    qdrant.requests.clear()
    assert qdrant_store.apply_changes(limit=100)
    assert "PUT /points" not in qdrant.requests
    assert found_by(world, "owner", source) == {chunk_of(source)}


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


def test_a_rolled_back_change_is_not_recorded(qdrant_store: QdrantStore, world: World) -> None:
    with transaction.atomic():
        ingest_text(world.source(), "a", "A zebra.")
        transaction.set_rollback(True)
    assert not IndexChange.objects.exists()


def test_an_installation_without_recorded_changes_is_not_ready(configured_qdrant: QdrantStore, world: World) -> None:
    assert not configured_qdrant.is_available()


def test_a_running_system_moves_to_qdrant_and_back(
    configured_qdrant: QdrantStore, live_world: World, settings: Any, qdrant: QdrantServer
) -> None:
    settings.VECTOR_STORE = "pgvector"
    source = live_world.source()
    ingest_text(source, "a", "A zebra.")
    ingest_text(source, "b", "Another zebra.")
    assert not IndexChange.objects.exists()
    expected = found_by(live_world, "owner", source)
    settings.VECTOR_STORE = "qdrant"
    with pytest.raises(IndexUnavailable, match="move_vectors"):
        found_by(live_world, "owner", source)
    try:
        qdrant.is_down = True
        with pytest.raises(CommandError, match="Run the command again"):
            call_command("move_vectors", "qdrant", stdout=io.StringIO())
        qdrant.is_down = False
        output = io.StringIO()
        call_command("move_vectors", "qdrant", stdout=output)
        assert "Recall of the nearest ten: 1.000" in output.getvalue()
        assert found_by(live_world, "owner", source) == expected
        ingest_text(source, "c", "A third zebra.")
        assert len(found_by(live_world, "owner", source)) == 3, "copied right after the commit"
        Chunk.objects.filter(pk__in=expected).delete()
        IndexChange.objects.all().delete()  # as after a restore of an older backup
        output = io.StringIO()
        call_command("move_vectors", "qdrant", stdout=output)
        assert len(points(qdrant, source.embedding_model)) == 1
        with pytest.raises(CommandError, match="VECTOR_STORE=pgvector"):
            call_command("move_vectors", "pgvector", finish=True, stdout=output)
        settings.VECTOR_STORE = "pgvector"
        call_command("move_vectors", "pgvector", stdout=output)
        call_command("move_vectors", "pgvector", finish=True, stdout=output)
        assert not outbox.are_recorded()
        assert len(found_by(live_world, "owner", source)) == 1
    finally:
        outbox.record(False)


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
    importlib.reload(vector_store)
