"""Re-embedding a source while it is searched and written to: no wrong answer and no loss."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection, transaction

from rag.models import Chunk, DataSource, EmbeddingModel, IngestionDocument
from rag.models.content.pgvector_tables import EMBEDDING_TABLES
from rag.pipeline.ingestion import index
from rag.services.jobs.create_job import create_job
from rag.services.reembedding import background, lifecycle
from rag.types import ChunkingOptions, Submission
from ragsite.postgres import identity
from ragsite.postgres.locks import session_lock
from tests.services.reembedding.helpers import ANIMALS, State, chunks, filled_source, rebuild, search, state, vectors
from tests.support import factories
from tests.support.factories import World, ingest_text
from tests.support.processes.worker import Worker
from tests.support.servers.provider_server import GatedProviderServer, ProviderServer

Eventually = Callable[..., Any]


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
        background.advance_due()
        assert (state(back), state(row)) == (State.SWITCHED, State.ROLLED_BACK)
        assert DataSource.objects.get().embedding_model == first
        assert search(live_world, "newcomer")[0] == "newcomer"
        lifecycle.roll_back(back)
        background.advance_due()
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
    background.advance_due()
    assert state(row) == State.SWITCHED
    assert DataSource.objects.get().embedding_model == second
    assert vectors(second) == chunks()
    assert search(live_world, "newcomer")[0] == "newcomer"
    assert search(live_world, "pelican")[0] == "lion"
    assert "otter" not in search(live_world, "otter")
    tagged = EMBEDDING_TABLES[768].objects.filter(tags__overlap=["striped", "fresh"])
    assert set(tagged.values_list("document__path", flat=True)) == {"zebra", "newcomer"}


def test_a_killed_worker_continues_and_embeds_no_committed_batch_twice(
    live_world: World, models: Callable[..., EmbeddingModel], worker: Worker, eventually: Eventually
) -> None:
    server = GatedProviderServer()
    first, second = models("first", 384), models("second", 384, server)
    source = live_world.source(embedding_model=first)
    paragraphs = "\n\n".join(f"# Number {number}\n\n" + f"Zebra number {number}. " * 16 for number in range(260))
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


def test_a_document_in_progress_during_the_switch_is_embedded_with_the_new_model(
    live_world: World, models: Callable[..., EmbeddingModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The vectors of the old model, which it got before the switch, must not be written after the switch."""
    first, second = models("first", 384), models("second", 768)
    source = filled_source(live_world, first)
    row = rebuild(source, second)
    job = create_job(
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
    background.advance_due()
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


def test_one_process_works_at_a_time(
    live_world: World, models: Callable[..., EmbeddingModel], eventually: Eventually
) -> None:
    """So ingestion loses at most one worker; and the lock ends with the connection that holds it."""
    server = ProviderServer(384)
    source = filled_source(live_world, models("first", 384))
    row = lifecycle.start(source, models("second", 384, server))
    locked, may_release = threading.Event(), threading.Event()

    def hold_lock() -> None:
        with session_lock("reembedding") as is_acquired:
            assert is_acquired
            locked.set()
            may_release.wait(10)
            connection.close()  # as when its process dies

    thread = threading.Thread(target=hold_lock)
    thread.start()
    locked.wait(10)
    background.advance_due()
    assert server.requests == []
    may_release.set()
    thread.join()

    def is_ready() -> bool:
        background.advance_due()
        return state(row) == State.READY

    eventually(is_ready)
