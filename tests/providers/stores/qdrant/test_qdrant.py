"""The store in Qdrant: what PostgreSQL refuses is not found, and outdated points stand for what replaces them."""

import uuid
from typing import Any

import pytest
from django.utils import timezone

from rag.models import Chunk, Document, Grant
from rag.providers.stores.qdrant import collection
from rag.providers.stores.qdrant.client import QdrantClient
from rag.providers.stores.qdrant.store import QdrantStore
from tests.support.factories import World, ingest_text
from tests.support.servers.qdrant_server import QdrantServer

from .qdrant_helpers import chunk_of, found_by, points


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
