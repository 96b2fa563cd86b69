"""Re-embedding a source: building, switching, rolling back, dropping and cancelling."""

from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from orgs.access.caller import Caller
from rag.errors import InvalidRequest
from rag.models import DataSource, EmbeddingModel, Reembedding
from rag.models.content.pgvector_tables import EMBEDDING_TABLES
from rag.pipeline.ingestion import reembed
from rag.providers import provider_factory
from rag.services.reembedding import background, lifecycle
from rag.services.sources import deletion, editing, purge
from tests.services.reembedding.helpers import State, chunks, filled_source, rebuild, search, state, vectors
from tests.support.factories import World, ingest_text
from tests.support.servers.provider_server import ProviderServer


def test_the_vectors_are_those_that_ingestion_would_make(
    live_world: World, models: Callable[..., EmbeddingModel]
) -> None:
    """The text is embedded with its title, headings and prefix, as in a source that always had this model."""
    first, second = models("first", 384), models("second", 384)
    EmbeddingModel.objects.filter(pk=second.pk).update(document_prefix="passage: ")
    second.refresh_from_db()
    text = "# Savanna\n\nWhere zebras live.\n\n## Rivers\n\nWhere otters live."
    source = live_world.source(embedding_model=first)
    ingest_text(source, "a", text, title="Habitats", content_type="text/markdown")
    rebuild(source, second)
    other = live_world.source("other", embedding_model=second)
    ingest_text(other, "a", text, title="Habitats", content_type="text/markdown")
    table: Any = EMBEDDING_TABLES[384]
    rows = table.objects.filter(model=second).order_by("chunk__position")
    built, ingested = ([row.embedding for row in rows.filter(source=one)] for one in (source, other))
    assert len(built) == len(ingested) > 0
    assert built == ingested


def test_a_source_has_one_open_reembedding(live_world: World, models: Callable[..., EmbeddingModel]) -> None:
    first, second, third = models("first", 384), models("second", 384), models("third", 768)
    source = filled_source(live_world, first)
    with pytest.raises(InvalidRequest, match="already"):
        lifecycle.start(source, first)
    row = rebuild(source, second)
    with pytest.raises(InvalidRequest, match="is not finished"):
        lifecycle.start(source, third)
    assert lifecycle.switch(row)
    with pytest.raises(InvalidRequest, match="still exist"):
        lifecycle.start(DataSource.objects.get(), third)
    row.refresh_from_db()
    lifecycle.drop(row)
    with pytest.raises(InvalidRequest, match="being removed"):
        lifecycle.start(DataSource.objects.get(), third)


def clear_now() -> None:
    Reembedding.objects.update(due_at=None)
    background.advance_due()


@pytest.mark.parametrize("dimensions", [384, 768])
def test_dropping_removes_all_old_vectors_and_no_other(
    live_world: World, models: Callable[..., EmbeddingModel], dimensions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag.pipeline.ingestion.reembed._DELETE_BATCH_SIZE", 2)
    first, second = models("first", 384), models("second", dimensions)
    source = filled_source(live_world, first)
    neighbour = live_world.source("neighbour", embedding_model=first)
    ingest_text(neighbour, "n", "A neighbour's text.")
    row = rebuild(source, second)
    assert lifecycle.switch(row)
    row.refresh_from_db()
    lifecycle.drop(row)
    background.advance_due()
    assert len(vectors(first)) == 7, "searches that began before the switch still use them"
    clear_now()
    assert (state(row), row.model_to_remove_id) == (State.DROPPED, None)
    assert vectors(second) == set(source.chunks.values_list("pk", flat=True))
    assert vectors(first) == set(neighbour.chunks.values_list("pk", flat=True))
    assert search(live_world, "otter")[0] == "otter"
    with pytest.raises(InvalidRequest):
        lifecycle.roll_back(row)


def test_cancelling_removes_the_vectors_that_were_built(
    live_world: World, models: Callable[..., EmbeddingModel]
) -> None:
    first, second = models("first", 384), models("second", 384)
    source = filled_source(live_world, first)
    row = rebuild(source, second)
    lifecycle.cancel(row)
    background.advance_due()
    assert (state(row), row.model_to_remove_id) == (State.CANCELLED, None)
    assert (vectors(first), vectors(second)) == (chunks(), set())
    with pytest.raises(InvalidRequest):
        lifecycle.switch(row)
    assert DataSource.objects.get().embedding_model == first
    assert rebuild(source, second).state == State.READY, "and it can begin again"


def test_a_cancelled_rollback_can_be_started_again(live_world: World, models: Callable[..., EmbeddingModel]) -> None:
    first, second = models("first", 384), models("second", 384)
    row = rebuild(filled_source(live_world, first), second)
    lifecycle.switch(row)
    row.refresh_from_db()
    lifecycle.cancel(lifecycle.roll_back(row))
    background.advance_due()
    assert (state(row), vectors(first)) == (State.SWITCHED, chunks())
    assert search(live_world, "otter")[0] == "otter"


def test_a_batch_is_not_written_after_a_cancellation(live_world: World, models: Callable[..., EmbeddingModel]) -> None:
    first, second = models("first", 384), models("second", 384)
    source = filled_source(live_world, first)
    row = lifecycle.start(source, second)
    batch = reembed.next_chunks(source, second, after=None)
    made = reembed.embed(batch, second)
    lifecycle.cancel(row)
    with pytest.raises(background.ReembeddingEnded):
        background.write_vectors(row, batch, made)
    assert vectors(second) == set()


def test_a_failing_provider_is_retried_and_then_reported(
    live_world: World, models: Callable[..., EmbeddingModel], settings: Any
) -> None:
    settings.RAG_EMBEDDING_MAX_RETRIES = 0
    provider_factory.remote_embedder.cache_clear()
    server = ProviderServer(384)
    first, second = models("first", 384), models("second", 384, server)
    source = filled_source(live_world, first)
    server.fail(503)
    row = rebuild(source, second)
    assert (row.state, row.outages) == (State.BUILDING, 1)
    assert row.due_at is not None
    assert row.due_at > timezone.now()
    assert "second" in row.error
    request_count = len(server.requests)
    background.advance_due()
    assert len(server.requests) == request_count, "not before the pause is over"
    for _ in range(9):
        server.fail(503)
        clear_now()
    assert state(row) == State.FAILED
    lifecycle.resume(row)
    background.advance_due()
    assert (state(row), row.error, row.outages) == (State.READY, "", 0)
    server.fail(401)
    lifecycle.cancel(row)
    background.advance_due()
    assert rebuild(source, second).state == State.FAILED, "a key that is refused will not get better"


def test_a_deleted_source_is_not_reembedded(live_world: World, models: Callable[..., EmbeddingModel]) -> None:
    server = ProviderServer(384)
    source = filled_source(live_world, models("first", 384))
    lifecycle.start(source, models("second", 384, server))
    deletion.delete_source(source)
    background.advance_due()
    assert server.requests == []
    purge.purge_deleted()
    assert not DataSource.objects.exists()
    assert not Reembedding.objects.exists()


def test_the_api_refuses_to_change_the_model_of_a_source_with_documents(
    live_world: World, models: Callable[..., EmbeddingModel]
) -> None:
    first, second = models("first", 384), models("second", 384)
    source = live_world.source(embedding_model=first)
    settings = editing.SourceSettings(embedding_model="second")
    row = rebuild(source, second)
    with pytest.raises(InvalidRequest):
        editing.update_source(Caller(live_world.users["owner"]), "library", settings)
    lifecycle.cancel(row)
    background.advance_due()
    ingest_text(source, "a", "Zebras.")
    with pytest.raises(InvalidRequest, match="Re-embed"):
        editing.update_source(Caller(live_world.users["owner"]), "library", settings)
