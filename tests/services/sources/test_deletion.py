"""Deletion: deleted content is never found, other content stays, and the usage counters are exact."""

import datetime
import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection, transaction
from django.db.models import Sum
from django.utils import timezone
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from orgs.creation import create_organization
from rag.errors import UnknownDocument, UnknownSource
from rag.models import Chunk, DataSource, Document, EmbeddingModel, IngestionDocument, IngestionJob, Usage
from rag.models.content.pgvector_tables import EMBEDDING_TABLES
from rag.pipeline.retrieval import retrieve
from rag.services.ingestion import synchronous_ingestion
from rag.services.jobs import manual_retries
from rag.services.jobs.create_job import create_job
from rag.services.maintenance import usage_counters
from rag.services.sources import deletion, documents, purge
from rag.types import ChunkingOptions, Question, SearchScope, Submission
from tests.support import factories
from tests.support.factories import World, ingest_text
from tests.support.servers.provider_server import ProviderServer

TEXTS = ("Zebras.", "Lions have manes.", "Ünïcödé beasts. " * 3, "Zebras and lions. " * 110)
OPTIONS = ChunkingOptions(64, 8)
# An action on a path of one of the sources. None: the path is deleted; a number: that text is sent.
steps = st.lists(
    st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"), st.none() | st.integers(0, len(TEXTS) - 1), st.booleans()),
    min_size=3,
    max_size=8,
)


def search(source: DataSource) -> dict[str, set[str]]:
    """Return path → passages that a search of this source alone finds."""
    scope = SearchScope(source_ids=(source.pk,), model_id=source.embedding_model_id)
    answer: dict[str, set[str]] = {}
    for passage in retrieve.find_passages(Question("lions and zebras", top_k=200), [scope]).passages:
        assert passage.source_id == source.pk
        answer.setdefault(passage.path, set()).add(passage.text)
    return answer


def stored_sums() -> tuple[int, int]:
    live = Document.objects.live().filter(source__deleted_at=None)
    counted = live.aggregate(chunks=Sum("chunk_count", default=0), size=Sum("bytes", default=0))
    return counted["chunks"], counted["size"]


def counted() -> tuple[int, int]:
    rows = Usage.objects.aggregate(chunks=Sum("chunks", default=0), size=Sum("bytes", default=0))
    return rows["chunks"], rows["size"]


@contextmanager
def rolled_back() -> Iterator[None]:
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


@pytest.mark.django_db
@given(operations=steps)
@settings(max_examples=12, phases=set(Phase) - {Phase.explain})
def test_each_source_has_exactly_its_undeleted_documents(
    operations: list[tuple[str, str, int | None, bool]],
) -> None:
    """The same path in two sources is two documents that do not influence each other; the counters are exact."""
    with rolled_back():
        home = create_organization(name="Model", slug="model")
        model = EmbeddingModel.objects.default()
        sources = {
            name: DataSource.objects.create(organization=home, slug=name, name=name, embedding_model=model)
            for name in "ab"
        }
        expected: dict[str, dict[str, str]] = {"a": {}, "b": {}}
        for name, path, text, purged in operations:
            if text is not None:
                ingest_text(sources[name], path, TEXTS[text])
                expected[name][path] = TEXTS[text]
            elif path in expected[name]:
                documents.delete_document(Document.objects.live().get(source=sources[name], path=path))
                del expected[name][path]
            if purged:
                purge.purge_deleted()
            for slug, source in sources.items():
                passages = search(source)
                assert set(passages) == set(expected[slug])
                for key, texts in passages.items():
                    assert all(text in expected[slug][key] for text in texts)
                chunks = Chunk.objects.filter(source=source, document__deleted_at=None)
                assert sum(map(len, passages.values())) <= chunks.count()
            assert counted() == stored_sums()
            stored = [text for texts in expected.values() for text in texts.values()]
            assert counted()[1] == sum(len(text.encode()) for text in stored)
        assert usage_counters.find_differences() == []
        for source in sources.values():
            deletion.delete_source(source)
        assert counted() == (0, 0)


def count_rows(document: Document) -> int:
    tables: list[Any] = [Chunk, *EMBEDDING_TABLES.values()]
    return sum(table.objects.filter(document=document.pk).count() for table in tables)


def test_a_purge_works_in_batches_and_can_be_interrupted(live_world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(purge, "_BATCH_SIZE", 3)
    source = live_world.source()
    for path in ("a", "b", "c", "d", "kept"):
        ingest_text(source, path, "Zebras and lions. " * (600 if path == "a" else 1))
    long, *_ = deleted = list(Document.objects.exclude(path="kept").order_by("path"))
    assert long.chunk_count > 4
    Document.objects.update(line_boxes=b"boxes")
    for document in deleted:
        documents.delete_document(document)
    sizes = []
    while purge.purge_document_batch():  # each is a transaction; stopping after any of them loses nothing
        sizes.append(Chunk.objects.count())
        assert set(search(source)) == {"kept"}
    steps_down = [before - after for before, after in itertools.pairwise(sizes)]
    assert len(sizes) > 3
    assert max(steps_down) <= 3
    assert [count_rows(document) for document in deleted] == [0] * 4
    emptied = Document.objects.filter(pk__in=[document.pk for document in deleted])
    stored = emptied.values_list("text", "title", "line_boxes")
    assert {(text, title, bytes(boxes)) for text, title, boxes in stored} == {("", "", b"")}
    assert set(search(source)) == {"kept"}


def test_concurrent_purges_remove_everything_once(live_world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(purge, "_BATCH_SIZE", 2)
    source, whole = live_world.source(), live_world.source("whole")
    for number in range(8):
        ingest_text(source, f"{number}", f"Zebra {number}.")
        ingest_text(whole, f"{number}", f"Zebra {number}.")
    for document in Document.objects.filter(source=source)[:6]:
        documents.delete_document(document)
    deletion.delete_source(whole)
    ready, errors = threading.Barrier(4), []

    def purge_at_once() -> None:
        try:
            ready.wait(20)
            purge.purge_deleted()
        except Exception as error:
            errors.append(error)
        finally:
            connection.close()

    run_all([purge_at_once] * 4)
    purge.purge_deleted()
    assert errors == []
    assert (Chunk.objects.count(), DataSource.objects.count(), Document.objects.live().count()) == (2, 1, 2)
    assert not Document.objects.unpurged().exists()


def run_all(tasks: list[Callable[[], None]]) -> None:
    threads = [threading.Thread(target=task) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.fixture
def model_provider() -> Iterator[ProviderServer]:
    with ProviderServer(dimensions=384).running() as server:
        yield server


@pytest.mark.parametrize("is_job", [True, False])
def test_a_document_that_was_sent_before_the_deletion_is_not_restored(
    live_world: World, model_provider: ProviderServer, is_job: bool
) -> None:
    """The document is being embedded during the deletion, by a worker or in a synchronous request."""
    model = EmbeddingModel.objects.create(
        name="remote", provider="openai", dimensions=384, base_url=model_provider.base_url
    )
    source = live_world.source(embedding_model=model)
    ingest_text(source, "a", "Zebras.")
    newer = Submission(path="a", title="A", text="Lions.")
    if is_job:
        create_job(source=source, submissions=[newer], options=OPTIONS, actor=live_world.users["editor"])
    ids = list(IngestionDocument.objects.values_list("pk", flat=True))

    def work() -> None:
        try:
            if is_job:
                factories.process_documents(ids=ids)
            else:
                synchronous_ingestion.ingest_now(source=source, submission=newer)
        finally:
            connection.close()

    seen = len(model_provider.requests)
    model_provider.stall.clear()
    thread = threading.Thread(target=work)
    thread.start()
    while len(model_provider.requests) == seen:
        thread.join(0.01)
    documents.delete_document(Document.objects.get())
    model_provider.stall.set()
    thread.join()
    assert not Document.objects.live().exists()
    assert search(source) == {}
    if is_job:
        row = IngestionDocument.objects.get()
        assert (row.state, row.outcome, row.chunk_count, row.job.status) == ("done", "unchanged", 0, "completed")
    assert ingest_text(source, "a", "Lions.").status == "created", "what is sent afterwards is new"
    assert counted() == stored_sums()


def test_a_tombstone_stays_while_an_older_submission_is_pending(live_world: World) -> None:
    source = live_world.source()
    ingest_text(source, "a", "Zebras.")
    ingest_text(source, "b", "Zebras.")
    waiting = Submission(path="a", title="A", text="Lions.")
    create_job(source=source, submissions=[waiting], options=OPTIONS, actor=live_world.users["editor"])
    for document in Document.objects.all():
        documents.delete_document(document)
    purge.purge_deleted()
    assert Document.objects.count() == 2, "for an hour"
    Document.objects.update(deleted_at=timezone.now() - datetime.timedelta(hours=2))
    purge.purge_deleted()
    assert list(Document.objects.values_list("path", flat=True)) == ["a"]
    factories.process_documents(ids=list(IngestionDocument.objects.values_list("pk", flat=True)))
    assert (search(source), IngestionJob.objects.get().status) == ({}, "completed")
    purge.purge_deleted()
    assert not Document.objects.exists()


def test_a_document_is_deleted_once(live_world: World) -> None:
    """Concurrent deletions reduce the usage counter once."""
    source = live_world.source()
    ingest_text(source, "a", "Zebras.")
    ingest_text(source, "kept", "Lions.")
    document = Document.objects.get(path="a")
    ready, refused = threading.Barrier(5), []

    def delete() -> None:
        try:
            ready.wait(20)
            documents.delete_document(document)
        except UnknownDocument:
            refused.append(1)
        finally:
            connection.close()

    run_all([delete] * 5)
    assert (len(refused), counted()) == (4, (1, len("Lions.")))
    deletion.delete_source(source)
    with pytest.raises(UnknownSource):
        documents.delete_document(Document.objects.get(path="kept"))
    assert counted() == (0, 0)


def test_a_deleted_document_takes_no_place_in_the_results(live_world: World) -> None:
    source = live_world.source()
    ingest_text(source, "nearest", "Zebras have stripes.")
    ingest_text(source, "next", "Oaks are trees.")
    documents.delete_document(Document.objects.get(path="nearest"))
    scope = SearchScope(source_ids=(source.pk,), model_id=source.embedding_model_id)
    answer = retrieve.find_passages(Question("zebras with stripes", top_k=1), [scope])
    assert ([passage.path for passage in answer.passages], answer.total_found) == (["next"], 1)


def test_a_retried_document_does_not_restore_a_deleted_one(live_world: World) -> None:
    """No matter how long after the deletion it is retried."""
    source = live_world.source()
    ingest_text(source, "a", "Zebras.")
    options, editor = OPTIONS, live_world.users["editor"]
    sent = Submission(path="a", title="A", text="Lions.")
    job = create_job(source=source, submissions=[sent], options=options, actor=editor)
    job.documents.update(state=IngestionDocument.State.FAILED, finished_at=timezone.now())
    documents.delete_document(Document.objects.get())
    Document.objects.update(deleted_at=timezone.now() - datetime.timedelta(days=2))
    purge.purge_deleted()
    assert manual_retries.retry_documents(job.documents.all()) == 1
    factories.process_queue()
    assert search(source) == {}
