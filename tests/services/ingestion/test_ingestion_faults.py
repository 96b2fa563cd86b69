"""Ingestion jobs survive failures of processes, broker and database. Real workers are killed here."""

import datetime
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from rag import task_queue
from rag.models import (
    Chunk,
    DataSource,
    Document,
    EmbeddingModel,
    IngestionDocument,
    IngestionJob,
    ScheduledTaskRun,
    WorkerHeartbeat,
)
from rag.services.ingestion.queue import leases, recovery_sweep
from rag.services.jobs.create_job import create_job
from rag.services.operations.measurements import measurement_summaries
from rag.services.sources import deletion
from rag.types import ChunkingOptions, Submission
from ragsite.celery import app
from ragsite.postgres import identity
from tests.support import factories
from tests.support.factories import World, process_claimed, process_queue
from tests.support.processes.worker import Worker, purge_queue
from tests.support.servers.provider_server import GatedProviderServer, ProviderServer

Eventually = Callable[..., Any]
OPTIONS = ChunkingOptions(512, 50)
State, Status = IngestionDocument.State, IngestionJob.Status


def documents(count: int, words: int = 300) -> list[Submission]:
    return [
        Submission(path=f"doc-{number}", title=f"Document {number}", text=f"Zebra number {number}. " * words)
        for number in range(count)
    ]


def submit(world: World, submissions: list[Submission]) -> IngestionJob:
    source = world.source()
    return create_job(source=source, submissions=submissions, options=OPTIONS, actor=world.users["editor"])


def remote_source(world: World, model_provider: ProviderServer) -> DataSource:
    model = EmbeddingModel.objects.create(
        name="remote", provider="openai", dimensions=384, base_url=model_provider.base_url
    )
    return world.source(embedding_model=model)


def count_event_consumers() -> int:
    """Return the number of queues that receive the events of workers."""
    with app.connection_for_read() as broker:
        channel: Any = broker.default_channel
        return len(channel.client.smembers("_kombu.binding.celeryev"))


def indexed() -> dict[str, list[tuple[Any, ...]]]:
    """path → its chunks, without ids."""
    rows = Chunk.objects.order_by("document__path", "position").values_list(
        "document__path", "position", "start", "end", "text"
    )
    chunks_by_path: dict[str, list[tuple[Any, ...]]] = {}
    for path, *chunk in rows:
        chunks_by_path.setdefault(path, []).append(tuple(chunk))
    return chunks_by_path


def test_a_killed_worker_loses_and_duplicates_nothing(
    live_world: World, worker: Worker, eventually: Eventually
) -> None:
    """The job completes, no document is missing, no chunk exists twice."""
    submissions = documents(8, words=400)
    with GatedProviderServer().running() as model_provider:
        source = remote_source(live_world, model_provider)
        options: dict[str, Any] = {"options": ChunkingOptions(128, 10), "actor": live_world.users["editor"]}
        worker.start()
        # Both processes of the worker then claim a part: 3 of 8 documents, and 2 of those that remain.
        eventually(lambda: WorkerHeartbeat.objects.filter(queues__contains=["ingestion"]).exists())
        job = create_job(source=source, submissions=submissions, **options)
        # One part is done, and both processes wait for the vectors of another one.
        eventually(lambda: len(model_provider.requests) == 3)
        worker.kill()
        model_provider.gate.set()
        states = Counter(job.documents.values_list("state", flat=True))
        assert states[State.DONE]
        assert states[State.RUNNING] >= 2
        worker.start()
        eventually(lambda: IngestionJob.objects.get(pk=job.pk).finished_at)
        job.refresh_from_db()
        assert job.status == Status.COMPLETED
        assert set(job.documents.values_list("state", flat=True)) == {State.DONE}
        # The result is that of an undisturbed run, in which the killed worker has no part.
        worker.stop()
        after_faults = indexed()
        assert set(after_faults) == {submission.path for submission in submissions}
        assert all(len(chunks) > 2 for chunks in after_faults.values())
        Document.objects.all().delete()
        create_job(source=source, submissions=submissions, **options)
        process_queue()
        assert after_faults == indexed()


def test_documents_are_ingested_and_deleted_after_the_broker_lost_its_queue(
    live_world: World, worker: Worker, eventually: Eventually
) -> None:
    job = submit(live_world, documents(5, words=3))
    deleted = live_world.source("deleted")
    factories.ingest_text(deleted, "a", "Zebras have stripes.")
    deletion.delete_source(deleted)
    purge_queue()
    event_consumers = count_event_consumers()
    worker.start()
    eventually(lambda: IngestionJob.objects.get(pk=job.pk).finished_at)
    assert set(job.documents.values_list("state", flat=True)) == {State.DONE}
    eventually(lambda: not DataSource.objects.filter(pk=deleted.pk).exists())
    # The worker also reports itself, its scheduled tasks and what its child processes have measured.
    eventually(lambda: ScheduledTaskRun.objects.filter(name="rag.sweep_ingestion", error="").exists())
    eventually(lambda: [done.count for done in measurement_summaries.summarize_all_time("operation")] == [5])
    (heartbeat,) = WorkerHeartbeat.objects.all()
    assert (set(heartbeat.queues), heartbeat.slots) == ({"ingestion", "maintenance", "background"}, 2)
    assert count_event_consumers() == event_consumers, "it does not listen to other workers (gossip)"
    worker.stop()
    assert not WorkerHeartbeat.objects.exists(), "a worker that stops is not reported as lost"
    assert "mingle" not in worker.log.read_text(), "it waits for no other worker"


def test_the_sweep_sends_lost_messages_again(live_world: World, worker: Worker) -> None:
    job = submit(live_world, documents(5, words=3))
    messages = task_queue.count_waiting()
    assert messages
    recovery_sweep.sweep()
    assert task_queue.count_waiting() == messages, "none is added while others are waiting"
    purge_queue()
    recovery_sweep.sweep()
    assert task_queue.count_waiting() == messages
    assert set(job.documents.values_list("state", flat=True)) == {State.QUEUED}


def test_a_worker_whose_lease_expired_cannot_write(live_world: World) -> None:
    """The worker was paused, another one has claimed its document, and now the first one continues."""
    job = submit(live_world, documents(1, words=3))
    row = job.documents.get()
    slow = factories.claim_document(row.pk)
    assert slow is not None
    assert factories.claim_document(row.pk) is None
    IngestionDocument.objects.update(due_at=timezone.now() - datetime.timedelta(seconds=1))
    recovery_sweep.sweep()
    quick = factories.claim_document(row.pk)
    assert quick is not None
    with pytest.raises(leases.LeaseEnded):
        process_claimed(slow)
    assert not Document.objects.exists()
    process_claimed(quick)
    assert Document.objects.count() == 1


def test_a_document_that_kills_its_workers_fails(live_world: World, settings: Any) -> None:
    job = submit(live_world, documents(2, words=3))
    poison, good = job.documents.all()
    for _ in range(settings.RAG_MAX_ATTEMPTS):
        assert factories.claim_document(poison.pk) is not None  # and its worker dies
        IngestionDocument.objects.filter(pk=poison.pk).update(due_at=timezone.now() - datetime.timedelta(seconds=1))
        recovery_sweep.sweep()
    poison.refresh_from_db()
    assert (poison.state, poison.error_code) == (State.FAILED, "WORKER_LOST")
    factories.process_documents(ids=[good.pk, poison.pk])
    job.refresh_from_db()
    assert (job.status, Document.objects.count()) == (Status.COMPLETED, 1)


def test_an_older_submission_that_finishes_later_does_not_replace_a_newer_one(live_world: World) -> None:
    older = submit(live_world, [Submission(path="a", title="A", text="Old text.")]).documents.get()
    source = live_world.home.sources.get()
    newer = create_job(
        source=source,
        submissions=[Submission(path="a", title="A", text="New text.")],
        options=OPTIONS,
        actor=live_world.users["editor"],
    ).documents.get()
    factories.process_documents(ids=[newer.pk])
    factories.process_documents(ids=[older.pk])
    assert Document.objects.get().text == "New text."


def test_a_job_whose_worker_died_before_closing_it_is_closed_by_the_sweep(live_world: World) -> None:
    job = submit(live_world, documents(1, words=3))
    row = factories.claim_document(job.documents.get().pk)
    assert row is not None
    process_claimed(row)
    recovery_sweep.sweep()
    job.refresh_from_db()
    assert job.status == Status.COMPLETED


@pytest.fixture
def model_provider() -> Iterator[ProviderServer]:
    with ProviderServer(dimensions=384).running() as server:
        yield server


def test_the_lease_of_a_slow_document_is_renewed(
    live_world: World, model_provider: ProviderServer, settings: Any, eventually: Eventually
) -> None:
    settings.RAG_LEASE_SECONDS = 1
    source = remote_source(live_world, model_provider)
    job = create_job(
        source=source, submissions=documents(1, words=3), options=OPTIONS, actor=live_world.users["editor"]
    )
    row = job.documents.get()
    model_provider.stall.clear()

    def work() -> None:
        try:
            factories.process_documents(ids=[row.pk])
        finally:
            connection.close()

    thread = threading.Thread(target=work)
    thread.start()
    eventually(lambda: model_provider.requests)
    first_expiry = IngestionDocument.objects.get(pk=row.pk).due_at
    assert first_expiry is not None
    eventually(lambda: timezone.now() > first_expiry + datetime.timedelta(seconds=0.2))
    recovery_sweep.sweep()
    row.refresh_from_db()
    assert (row.state, row.attempts) == (State.RUNNING, 1)
    model_provider.stall.set()
    thread.join()
    row.refresh_from_db()
    assert (row.state, row.attempts) == (State.DONE, 1)


def test_a_lost_database_connection_fails_no_document(live_world: World, model_provider: ProviderServer) -> None:
    """Shared rules: a job survives "a database failover: no document is lost"."""
    source = remote_source(live_world, model_provider)
    job = create_job(
        source=source, submissions=documents(1, words=3), options=OPTIONS, actor=live_world.users["editor"]
    )
    row = job.documents.get()
    model_provider.stall.clear()
    backend: list[int] = []

    def work() -> None:
        try:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_backend_pid()")
                backend.append(cursor.fetchone()[0])
            factories.process_documents(ids=[row.pk])
        finally:
            connection.close()

    thread = threading.Thread(target=work)
    thread.start()
    while not model_provider.requests:
        thread.join(0.01)
    with identity.run_as(identity.OWNER), connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s)", backend)
    model_provider.stall.set()
    thread.join()
    row.refresh_from_db()
    assert row.state == State.RUNNING, "its lease will expire, and the sweep puts it back into the queue"
    IngestionDocument.objects.update(due_at=timezone.now() - datetime.timedelta(seconds=1))
    recovery_sweep.sweep()
    factories.process_documents(ids=[row.pk])
    row.refresh_from_db()
    assert row.state == State.DONE
