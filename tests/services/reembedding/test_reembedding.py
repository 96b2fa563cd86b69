"""Re-embedding a source while it is searched and written to: no wrong answer, no loss, and it can be rolled back."""

import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone

from orgs.access.caller import Caller
from rag.errors import InvalidRequest
from rag.models import Chunk, DataSource, EmbeddingModel, IngestionDocument, Reembedding
from rag.models.content.index_tables import EMBEDDING_TABLES
from rag.pipeline.ingestion import index, reembed
from rag.providers import registry
from rag.services.jobs import submit
from rag.services.reembedding import lifecycle
from rag.services.reembedding import worker as reembedder
from rag.services.search import queries
from rag.services.sources import deletion, editing
from rag.types import ChunkingOptions, Question, Submission
from ragsite.postgres import identity
from ragsite.postgres.locks import session_lock
from tests.conftest import Worker
from tests.support import factories
from tests.support.factories import World, ingest_text
from tests.support.provider_server import ProviderServer

Eventually = Callable[..., Any]
State = Reembedding.State
ANIMALS = ("zebra", "lion", "otter", "heron", "badger", "lynx")


@contextmanager
def remote_model(name: str, dimensions: int, server: ProviderServer | None = None) -> Iterator[EmbeddingModel]:
    with (server or ProviderServer(dimensions)).running() as running:
        yield EmbeddingModel.objects.create(
            name=name, provider="openai", dimensions=dimensions, base_url=running.base_url
        )


@pytest.fixture
def models(live_world: World) -> Iterator[Callable[..., EmbeddingModel]]:
    """Return a factory: models("name", 768) is a remote model with a server of its own."""
    with ExitStack() as stack:
        yield lambda *arguments: stack.enter_context(remote_model(*arguments))


def filled_source(world: World, model: EmbeddingModel) -> DataSource:
    source = world.source(embedding_model=model)
    for animal in ANIMALS:
        ingest_text(source, animal, f"Everything about the {animal} and where the {animal} lives.")
    return source


def vectors(model: EmbeddingModel) -> set[uuid.UUID]:
    rows = EMBEDDING_TABLES[model.dimensions].objects.filter(model=model)
    return set(rows.values_list("chunk_id", flat=True))


def chunks() -> set[uuid.UUID]:
    return set(Chunk.objects.values_list("pk", flat=True))


def search(world: World, text: str) -> list[str]:
    reader = queries.SourceSelection(Caller(world.users["member"]))
    return [passage.path for passage in queries.retrieve(Question(text=text, top_k=3), reader).passages]


def state(row: Reembedding) -> str:
    row.refresh_from_db()
    return row.state


def rebuild(source: DataSource, model: EmbeddingModel, **options: Any) -> Reembedding:
    row = lifecycle.start(source, model, **options)
    reembedder.advance_due()
    row.refresh_from_db()
    return row


@pytest.mark.parametrize(("old", "new"), [(384, 768), (768, 768), (1536, 384), (384, 3072)])
def test_searches_are_complete_at_every_moment(
    live_world: World, models: Callable[..., EmbeddingModel], eventually: Eventually, old: int, new: int
) -> None:
    """Searches run all the time while vectors are built and the source is switched, rolled back and switched again."""
    first, second = models("first", old), models("second", new)
    source = filled_source(live_world, first)
    wrong_answers: list[list[str]] = []
    completed: list[str] = []
    stop = threading.Event()

    def read() -> None:
        try:
            while not stop.is_set():
                for animal in ANIMALS:
                    answer = search(live_world, f"Where does the {animal} live?")
                    completed.append(animal)
                    if not answer or answer[0] != animal:
                        wrong_answers.append(answer)
        finally:
            connection.close()

    reader = threading.Thread(target=read)
    reader.start()
    try:
        row = rebuild(source, second)
        assert (row.state, row.total, row.done) == (State.READY, 6, 6)
        assert lifecycle.switch(row)
        ingest_text(DataSource.objects.get(), "newcomer", "A newcomer that has only the second model's vector.")
        back = lifecycle.roll_back(row)
        reembedder.advance_due()
        assert (state(back), state(row)) == (State.SWITCHED, State.ROLLED_BACK)
        assert DataSource.objects.get().embedding_model == first
        assert search(live_world, "newcomer")[0] == "newcomer"
        lifecycle.roll_back(back)
        reembedder.advance_due()
        assert DataSource.objects.get().embedding_model == second
        eventually(lambda: len(completed) > 6)
    finally:
        stop.set()
        reader.join()
    assert wrong_answers == []
    assert vectors(first) == vectors(second) == chunks()


def test_changes_during_the_build_are_found_after_the_switch(
    live_world: World, models: Callable[..., EmbeddingModel]
) -> None:
    first, second = models("first", 384), models("second", 768)
    source = filled_source(live_world, first)
    row = rebuild(source, second)
    ingest_text(source, "newcomer", "A newcomer of this very moment.", tags=("fresh",))
    ingest_text(source, "lion", "Lions were replaced by something else: a pelican.")
    ingest_text(source, "zebra", "Everything about the zebra and where the zebra lives.", tags=("striped",))
    source.documents.get(path="otter").delete()
    assert not lifecycle.switch(row), "a chunk is missing: it catches up first"
    assert DataSource.objects.get().embedding_model == first
    reembedder.advance_due()
    assert state(row) == State.SWITCHED
    assert DataSource.objects.get().embedding_model == second
    assert vectors(second) == chunks()
    assert search(live_world, "newcomer")[0] == "newcomer"
    assert search(live_world, "pelican")[0] == "lion"
    assert "otter" not in search(live_world, "otter")
    tagged = EMBEDDING_TABLES[768].objects.filter(tags__overlap=["striped", "fresh"])
    assert set(tagged.values_list("document__path", flat=True)) == {"zebra", "newcomer"}


def test_the_vectors_are_those_that_ingestion_would_make(
    live_world: World, models: Callable[..., EmbeddingModel]
) -> None:
    """They are of the text with its title, headings and prefix, as in a source that always had this model."""
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


class Gated(ProviderServer):
    """Answers its first request, and does not answer the later ones."""

    gate: threading.Event

    def answer(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
        if len(self.requests) > 1:
            self.gate.wait(20)
        return super().answer(path, body)


def test_a_killed_worker_continues_and_embeds_no_committed_batch_twice(
    live_world: World, models: Callable[..., EmbeddingModel], worker: Worker, eventually: Eventually
) -> None:
    server = Gated(384)
    server.gate = threading.Event()
    first, second = models("first", 384), models("second", 384, server)
    source = live_world.source(embedding_model=first)
    paragraphs = "\n\n".join(f"# Number {number}\n\n" + f"Zebra number {number}. " * 40 for number in range(300))
    ingest_text(source, "long", paragraphs, content_type="text/markdown")
    total = Chunk.objects.count()
    assert total > 256
    row = lifecycle.start(source, second)
    worker.start()
    eventually(lambda: len(server.requests) == 2)
    committed = vectors(second)
    assert len(committed) == 128
    worker.kill()
    server.gate.set()
    worker.start()
    eventually(lambda: state(row) == State.READY)
    assert (vectors(second), row.done, row.total) == (chunks(), total, total)
    texts = [text for request in server.requests for text in request["input"]]
    assert len(texts) == total + 128, "only the interrupted batch is embedded again"
    assert len(set(texts)) == total


def test_a_source_has_one_open_reembedding(live_world: World, models: Callable[..., EmbeddingModel]) -> None:
    first, second, third = models("first", 384), models("second", 384), models("third", 768)
    source = filled_source(live_world, first)
    with pytest.raises(InvalidRequest, match="already"):
        lifecycle.start(source, first)
    row = rebuild(source, second)
    with pytest.raises(InvalidRequest, match="is open"):
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
    reembedder.advance_due()


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
    reembedder.advance_due()
    assert len(vectors(first)) == 7, "searches that began before the switch still use them"
    clear_now()
    assert (state(row), row.clearing_id) == (State.DROPPED, None)
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
    reembedder.advance_due()
    assert (state(row), row.clearing_id) == (State.CANCELLED, None)
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
    reembedder.advance_due()
    assert (state(row), vectors(first)) == (State.SWITCHED, chunks())
    assert search(live_world, "otter")[0] == "otter"


def test_a_batch_is_not_written_after_a_cancellation(live_world: World, models: Callable[..., EmbeddingModel]) -> None:
    first, second = models("first", 384), models("second", 384)
    source = filled_source(live_world, first)
    row = lifecycle.start(source, second)
    batch = reembed.next_chunks(source, second, after=None)
    made = reembed.embed(batch, second)
    lifecycle.cancel(row)
    with pytest.raises(reembedder.ReembeddingEnded):
        reembedder.write_vectors(row, batch, made)
    assert vectors(second) == set()


def test_a_failing_provider_is_retried_and_then_reported(
    live_world: World, models: Callable[..., EmbeddingModel], settings: Any
) -> None:
    settings.RAG_EMBEDDING_MAX_RETRIES = 0
    registry.remote_embedder.cache_clear()
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
    reembedder.advance_due()
    assert len(server.requests) == request_count, "not before the pause is over"
    for _ in range(9):
        server.fail(503)
        clear_now()
    assert state(row) == State.FAILED
    lifecycle.resume(row)
    reembedder.advance_due()
    assert (state(row), row.error, row.outages) == (State.READY, "", 0)
    server.fail(401)
    lifecycle.cancel(row)
    reembedder.advance_due()
    assert rebuild(source, second).state == State.FAILED, "a key that is refused will not get better"


def test_a_document_in_progress_during_the_switch_is_embedded_with_the_new_model(
    live_world: World, models: Callable[..., EmbeddingModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was embedded with the old model before the switch, so its vectors must not be written after it."""
    first, second = models("first", 384), models("second", 768)
    source = filled_source(live_world, first)
    row = rebuild(source, second)
    job = submit.submit_job(
        source=source,
        submissions=[Submission(path="late", title="Late", text="A latecomer.")],
        options=ChunkingOptions(512, 50),
        actor=live_world.users["editor"],
    )
    real = index.index_documents

    def switched_meanwhile(*arguments: Any, **options: Any) -> Any:
        monkeypatch.setattr(index, "index_documents", real)

        def switch() -> None:
            lifecycle.switch(row)
            connection.close()

        thread = threading.Thread(target=switch)
        thread.start()
        thread.join()
        return real(*arguments, **options)

    monkeypatch.setattr(index, "index_documents", switched_meanwhile)
    ids = list(job.documents.values_list("pk", flat=True))
    factories.process_documents(ids=ids)
    document = job.documents.get()
    assert document.state == IngestionDocument.State.QUEUED
    assert (document.attempts, document.error_code) == (0, "INDEX_UNAVAILABLE")
    IngestionDocument.objects.update(due_at=None)
    factories.process_documents(ids=ids)
    assert job.documents.get().state == IngestionDocument.State.DONE
    assert vectors(second) == chunks()
    assert len(vectors(first)) == 6
    assert search(live_world, "latecomer")[0] == "late"


def test_the_switch_waits_for_writers_and_checks_their_chunks(
    live_world: World, models: Callable[..., EmbeddingModel], eventually: Eventually
) -> None:
    first, second = models("first", 384), models("second", 768)
    source = filled_source(live_world, first)
    row = rebuild(source, second)
    switched: list[bool] = []

    def switch() -> None:
        switched.append(lifecycle.switch(row))
        connection.close()

    def is_waiting() -> bool:
        with identity.run_as(identity.OWNER), connection.cursor() as cursor:
            cursor.execute("SELECT pg_stat_clear_snapshot()")  # else the first snapshot stays
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
            )
            return bool(cursor.fetchone()[0] > 0)

    thread = threading.Thread(target=switch)
    with transaction.atomic():
        ingest_text(source, "late", "A latecomer.")
        thread.start()
        eventually(is_waiting)
    thread.join()
    assert switched == [False]
    assert DataSource.objects.get().embedding_model == first
    reembedder.advance_due()
    assert (state(row), vectors(second)) == (State.SWITCHED, chunks())


def test_synchronous_ingestion_succeeds_during_the_switch(
    live_world: World, models: Callable[..., EmbeddingModel]
) -> None:
    first, second = models("first", 384), models("second", 768)
    source = filled_source(live_world, first)
    lifecycle.switch(rebuild(source, second))
    assert source.embedding_model == first, "as a request that began before"
    ingest_text(source, "late", "A latecomer.")
    assert vectors(second) == chunks()


def test_a_deleted_source_is_not_reembedded(live_world: World, models: Callable[..., EmbeddingModel]) -> None:
    server = ProviderServer(384)
    source = filled_source(live_world, models("first", 384))
    lifecycle.start(source, models("second", 384, server))
    deletion.delete_source(source)
    reembedder.advance_due()
    assert server.requests == []
    deletion.purge_deleted()
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
    reembedder.advance_due()
    ingest_text(source, "a", "Zebras.")
    with pytest.raises(InvalidRequest, match="Re-embed"):
        editing.update_source(Caller(live_world.users["owner"]), "library", settings)


def test_one_process_works_at_a_time(
    live_world: World, models: Callable[..., EmbeddingModel], eventually: Eventually
) -> None:
    """So ingestion loses at most one worker; and the lock ends with the connection that holds it."""
    server = ProviderServer(384)
    source = filled_source(live_world, models("first", 384))
    row = lifecycle.start(source, models("second", 384, server))
    locked, may_release = threading.Event(), threading.Event()

    def hold_lock() -> None:
        with session_lock("reembedding") as has_lock:
            assert has_lock
            locked.set()
            may_release.wait(10)
            connection.close()  # as when its process dies

    thread = threading.Thread(target=hold_lock)
    thread.start()
    locked.wait(10)
    reembedder.advance_due()
    assert server.requests == []
    may_release.set()
    thread.join()

    def is_ready() -> bool:
        reembedder.advance_due()
        return state(row) == State.READY

    eventually(is_ready)
