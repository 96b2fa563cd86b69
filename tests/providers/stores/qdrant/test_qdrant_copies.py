"""Copies of chunks in Qdrant: nothing is lost between the two stores, and a running system moves."""

import io
import uuid
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import transaction

from rag.errors import IndexUnavailable
from rag.models import Chunk, Document
from rag.models.content.index_outbox import IndexChange
from rag.providers.stores.qdrant import outbox
from rag.providers.stores.qdrant.store import QdrantStore
from rag.services.maintenance.indexes import apply_index_changes
from tests.support.factories import World, ingest_text
from tests.support.servers.qdrant_server import QdrantServer

from .qdrant_helpers import chunk_of, found_by, points


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
        outbox.switch_recording(on=False)
