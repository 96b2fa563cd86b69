"""A source moves to another embedding model: nobody notices, nothing is lost, and there is a way back."""

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
def served(name: str, dimensions: int, server: ProviderServer | None = None) -> Iterator[EmbeddingModel]:
    with (server or ProviderServer(dimensions)).running() as running:
        yield EmbeddingModel.objects.create(
            name=name, provider="openai", dimensions=dimensions, base_url=running.base_url
        )


@pytest.fixture
def models(live_world: World) -> Iterator[Callable[..., EmbeddingModel]]:
    """models("name", 768): a remote model with a server of its own."""
    with ExitStack() as stack:
        yield lambda *arguments: stack.enter_context(served(*arguments))


def filled(world: World, model: EmbeddingModel) -> DataSource:
    source = world.source(embedding_model=model)
    for animal in ANIMALS:
        ingest_text(source, animal, f"Everything about the {animal} and where the {animal} lives.")
    return source


def vectors(model: EmbeddingModel) -> set[uuid.UUID]:
    rows = EMBEDDING_TABLES[model.dimensions].objects.filter(model=model)
    return set(rows.values_list("chunk_id", flat=True))


def chunks() -> set[uuid.UUID]:
    return set(Chunk.objects.values_list("pk", flat=True))


def found(world: World, text: str) -> list[str]:
    reader = queries.SourceSelection(Caller(world.users["member"]))
    return [each.path for each in queries.retrieve(Question(text=text, top_k=3), reader).passages]


def state(row: Reembedding) -> str:
    row.refresh_from_db()
    return row.state


def rebuild(source: DataSource, model: EmbeddingModel, **options: Any) -> Reembedding:
    row = lifecycle.start(source, model, **options)
    reembedder.advance_due()
    row.refresh_from_db()
    return row


@pytest.mark.parametrize(("old", "new"), [(384, 768), (768, 768), (1536, 384), (384, 3072)])
def test_every_answer_is_complete_at_every_moment(
    live_world: World, models: Callable[..., EmbeddingModel], eventually: Eventually, old: int, new: int
) -> None:
    """A reader asks without a pause while vectors are built, the source is switched, rolled back and switched again."""
    first, second = models("first", old), models("second", new)
    source = filled(live_world, first)
    wrong: list[list[str]] = []
    asked: list[int] = []
    stop = threading.Event()

    def read() -> None:
        try:
            while not stop.is_set():
                for animal in ANIMALS:
                    answer = found(live_world, f"Where does the {animal} live?")
                    asked.append(1)
                    if not answer or answer[0] != animal:
                        wrong.append(answer)
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
        assert found(live_world, "newcomer")[0] == "newcomer"
        lifecycle.roll_back(back)
        reembedder.advance_due()
        assert DataSource.objects.get().embedding_model == second
        eventually(lambda: len(asked) > 6)
    finally:
        stop.set()
        reader.join()
    assert wrong == []
    assert vectors(first) == vectors(second) == chunks()


def test_what_comes_and_goes_meanwhile_is_found_after_the_switch(
    live_world: World, models: Callable[..., EmbeddingModel]
) -> None:
    first, second = models("first", 384), models("second", 768)
    source = filled(live_world, first)
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
    assert found(live_world, "newcomer")[0] == "newcomer"
    assert found(live_world, "pelican")[0] == "lion"
    assert "otter" not in found(live_world, "otter")
    tagged = EMBEDDING_TABLES[768].objects.filter(tags__overlap=["striped", "fresh"])
    assert set(tagged.values_list("document__path", flat=True)) == {"zebra", "newcomer"}


def test_the_same_text_is_embedded_as_ingestion_would(live_world: World, models: Callable[..., EmbeddingModel]) -> None:
    """With the title, the headings and the prefix of passages: the vectors are those of a source that began with it."""
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
    built, ingested = ([row.embedding for row in rows.filter(source=each)] for each in (source, other))
    assert len(built) == len(ingested) > 0
    assert built == ingested


class Gated(ProviderServer):
    """Answers its first request, and keeps the later ones waiting."""

    gate: threading.Event

    def answer(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
        if len(self.requests) > 1:
            self.gate.wait(20)
        return super().answer(path, body)


def test_a_killed_builder_goes_on_and_embeds_nothing_twice_that_was_kept(
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
    kept = vectors(second)
    assert len(kept) == 128
    worker.kill()
    server.gate.set()
    worker.start()
    eventually(lambda: state(row) == State.READY)
    assert (vectors(second), row.done, row.total) == (chunks(), total, total)
    texts = [text for request in server.requests for text in request["input"]]
    assert len(texts) == total + 128, "the batch that was under way, and no other"
    assert len(set(texts)) == total


def test_one_at_a_time(live_world: World, models: Callable[..., EmbeddingModel]) -> None:
    first, second, third = models("first", 384), models("second", 384), models("third", 768)
    source = filled(live_world, first)
    with pytest.raises(InvalidRequest, match="already"):
        lifecycle.start(source, first)
    row = rebuild(source, second)
    with pytest.raises(InvalidRequest, match="under way"):
        lifecycle.start(source, third)
    assert lifecycle.switch(row)
    with pytest.raises(InvalidRequest, match="still kept"):
        lifecycle.start(DataSource.objects.get(), third)
    row.refresh_from_db()
    lifecycle.drop(row)
    with pytest.raises(InvalidRequest, match="being removed"):
        lifecycle.start(DataSource.objects.get(), third)


def clear_now() -> None:
    Reembedding.objects.update(due_at=None)
    reembedder.advance_due()


@pytest.mark.parametrize("dimensions", [384, 768])
def test_dropping_leaves_no_orphan_and_everything_searchable(
    live_world: World, models: Callable[..., EmbeddingModel], dimensions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag.pipeline.ingestion.reembed._DELETE_BATCH_SIZE", 2)
    first, second = models("first", 384), models("second", dimensions)
    source = filled(live_world, first)
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
    assert found(live_world, "otter")[0] == "otter"
    with pytest.raises(InvalidRequest):
        lifecycle.roll_back(row)


def test_cancelling_takes_away_what_was_built(live_world: World, models: Callable[..., EmbeddingModel]) -> None:
    first, second = models("first", 384), models("second", 384)
    source = filled(live_world, first)
    row = rebuild(source, second)
    lifecycle.cancel(row)
    reembedder.advance_due()
    assert (state(row), row.clearing_id) == (State.CANCELLED, None)
    assert (vectors(first), vectors(second)) == (chunks(), set())
    with pytest.raises(InvalidRequest):
        lifecycle.switch(row)
    assert DataSource.objects.get().embedding_model == first
    assert rebuild(source, second).state == State.READY, "and it can begin again"


def test_cancelling_the_way_back_keeps_it_open(live_world: World, models: Callable[..., EmbeddingModel]) -> None:
    first, second = models("first", 384), models("second", 384)
    row = rebuild(filled(live_world, first), second)
    lifecycle.switch(row)
    row.refresh_from_db()
    lifecycle.cancel(lifecycle.roll_back(row))
    reembedder.advance_due()
    assert (state(row), vectors(first)) == (State.SWITCHED, chunks())
    assert found(live_world, "otter")[0] == "otter"


def test_a_batch_that_was_under_way_when_it_was_cancelled_is_not_written(
    live_world: World, models: Callable[..., EmbeddingModel]
) -> None:
    first, second = models("first", 384), models("second", 384)
    source = filled(live_world, first)
    row = lifecycle.start(source, second)
    batch = reembed.next_chunks(source, second, after=None)
    made = reembed.embed(batch, second)
    lifecycle.cancel(row)
    with pytest.raises(reembedder.ReembeddingEnded):
        reembedder.write_vectors(row, batch, made)
    assert vectors(second) == set()


def test_a_provider_that_fails_is_tried_later_and_then_reported(
    live_world: World, models: Callable[..., EmbeddingModel], settings: Any
) -> None:
    settings.RAG_EMBEDDING_MAX_RETRIES = 0
    registry._remote_embedder.cache_clear()
    server = ProviderServer(384)
    first, second = models("first", 384), models("second", 384, server)
    source = filled(live_world, first)
    server.fail(503)
    row = rebuild(source, second)
    assert (row.state, row.outages) == (State.BUILDING, 1)
    assert row.due_at is not None
    assert row.due_at > timezone.now()
    assert "second" in row.error
    asked = len(server.requests)
    reembedder.advance_due()
    assert len(server.requests) == asked, "not before its time"
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


def test_a_document_at_work_during_the_switch_is_done_again_with_the_new_model(
    live_world: World, models: Callable[..., EmbeddingModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Embedded with the old model, written after the switch: it is not mixed in, and not lost."""
    first, second = models("first", 384), models("second", 768)
    source = filled(live_world, first)
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
    assert found(live_world, "latecomer")[0] == "late"


def test_the_switch_waits_for_who_is_writing_and_counts_what_they_wrote(
    live_world: World, models: Callable[..., EmbeddingModel], eventually: Eventually
) -> None:
    first, second = models("first", 384), models("second", 768)
    source = filled(live_world, first)
    row = rebuild(source, second)
    switched: list[bool] = []

    def switch() -> None:
        switched.append(lifecycle.switch(row))
        connection.close()

    def somebody_waits() -> bool:
        with identity.run_as(identity.OWNER), connection.cursor() as cursor:
            cursor.execute("SELECT pg_stat_clear_snapshot()")  # what was seen first stands for the transaction
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
            )
            return cursor.fetchone()[0] > 0

    thread = threading.Thread(target=switch)
    with transaction.atomic():
        ingest_text(source, "late", "A latecomer.")
        thread.start()
        eventually(somebody_waits)
    thread.join()
    assert switched == [False]
    assert DataSource.objects.get().embedding_model == first
    reembedder.advance_due()
    assert (state(row), vectors(second)) == (State.SWITCHED, chunks())


def test_a_document_that_is_answered_at_once_does_not_notice_the_switch(
    live_world: World, models: Callable[..., EmbeddingModel]
) -> None:
    first, second = models("first", 384), models("second", 768)
    source = filled(live_world, first)
    lifecycle.switch(rebuild(source, second))
    assert source.embedding_model == first, "as a request that began before"
    ingest_text(source, "late", "A latecomer.")
    assert vectors(second) == chunks()


def test_a_deleted_source_is_not_worked_on(live_world: World, models: Callable[..., EmbeddingModel]) -> None:
    server = ProviderServer(384)
    source = filled(live_world, models("first", 384))
    lifecycle.start(source, models("second", 384, server))
    deletion.delete_source(source)
    reembedder.advance_due()
    assert server.requests == []
    deletion.purge_deleted()
    assert not DataSource.objects.exists()
    assert not Reembedding.objects.exists()


def test_the_api_says_where_a_model_is_changed_and_keeps_out_meanwhile(
    live_world: World, models: Callable[..., EmbeddingModel]
) -> None:
    first, second = models("first", 384), models("second", 384)
    source = live_world.source(embedding_model=first)
    wanted = editing.SourceSettings(embedding_model="second")
    row = rebuild(source, second)
    with pytest.raises(InvalidRequest):
        editing.update_source(Caller(live_world.users["owner"]), "library", wanted)
    lifecycle.cancel(row)
    reembedder.advance_due()
    ingest_text(source, "a", "Zebras.")
    with pytest.raises(InvalidRequest, match="Re-embed"):
        editing.update_source(Caller(live_world.users["owner"]), "library", wanted)


def test_one_process_builds_at_a_time(
    live_world: World, models: Callable[..., EmbeddingModel], eventually: Eventually
) -> None:
    """Ingestion never waits for more than one worker; and the turn ends with the connection that has it."""
    server = ProviderServer(384)
    source = filled(live_world, models("first", 384))
    row = lifecycle.start(source, models("second", 384, server))
    held, let_go = threading.Event(), threading.Event()

    def other() -> None:
        with session_lock("reembedding") as is_mine:
            assert is_mine
            held.set()
            let_go.wait(10)
            connection.close()  # as when its process dies

    thread = threading.Thread(target=other)
    thread.start()
    held.wait(10)
    reembedder.advance_due()
    assert server.requests == []
    let_go.set()
    thread.join()

    def is_ready() -> bool:
        reembedder.advance_due()
        return state(row) == State.READY

    eventually(is_ready)
