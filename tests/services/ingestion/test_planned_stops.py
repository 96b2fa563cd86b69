"""A worker that is asked to stop gives its unfinished documents back at once, and that is no attempt."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rag import task_queue
from rag.models import DataSource, Document, EmbeddingModel, IngestionDocument, IngestionJob
from rag.pipeline.ingestion import index, parse_chunk_embed
from rag.services.ingestion import build_submissions, document_processing
from rag.services.jobs.create_job import create_job
from rag.services.operations import workers
from rag.types import Submission
from tests.support.factories import World
from tests.support.processes.worker import Worker, purge_queue
from tests.support.servers.provider_server import ProviderServer

Eventually = Callable[..., Any]
State = IngestionDocument.State


@pytest.fixture
def model_provider() -> Iterator[ProviderServer]:
    with ProviderServer(dimensions=384).running() as server:
        yield server


@pytest.fixture
def other_worker(worker: Worker, tmp_path: Path) -> Iterator[Worker]:
    """A second worker of the queue of `worker`."""
    folder = tmp_path / "other"
    folder.mkdir()
    process = Worker(folder)
    yield process
    process.kill()


def remote_source(world: World, model_provider: ProviderServer) -> DataSource:
    model = EmbeddingModel.objects.create(
        name="remote", provider="openai", dimensions=384, base_url=model_provider.base_url
    )
    return world.source(embedding_model=model)


def submit(world: World, source: DataSource, *paths: str, words: int = 3) -> IngestionJob:
    submissions = [Submission(path=path, title=path, text=f"Zebras have stripes: {path}. " * words) for path in paths]
    options = build_submissions.default_chunking_options()
    return create_job(source=source, submissions=submissions, options=options, actor=world.users["editor"])


def submit_to_waiting_model(
    world: World, worker: Worker, model_provider: ProviderServer, eventually: Eventually
) -> IngestionJob:
    """Start the worker and a job with one document, and return when it waits for the model's response."""
    source = remote_source(world, model_provider)
    model_provider.stall.clear()
    job = submit(world, source, "a")
    worker.start()
    eventually(lambda: len(model_provider.requests) == 1)
    return job


def states(job: IngestionJob) -> set[tuple[str, int]]:
    """The state and the attempts of the job's documents."""
    return set(job.documents.values_list("state", "attempts"))


class Stop:
    """Stands for the request to stop in this process."""

    def __init__(self) -> None:
        self.is_requested = False


@pytest.fixture
def stop(monkeypatch: pytest.MonkeyPatch) -> Stop:
    requested = Stop()
    monkeypatch.setattr(workers, "is_stopping", lambda: requested.is_requested)
    return requested


def test_another_worker_takes_over_while_the_stopped_one_still_computes(
    live_world: World, worker: Worker, other_worker: Worker, model_provider: ProviderServer, eventually: Eventually
) -> None:
    """A rolling restart: the old worker waits for the model's response when it is asked to stop."""
    job = submit_to_waiting_model(live_world, worker, model_provider, eventually)
    other_worker.start()
    eventually(lambda: " ready." in other_worker.log.read_text())
    worker.ask_to_stop()
    eventually(lambda: len(model_provider.requests) == 2)
    assert states(job) == {(State.RUNNING, 1)}, "the claim of the stopped worker does not count"
    assert job.documents.get().error_code == "", "the stopped worker has not waited until the model fails"
    model_provider.stall.set()
    eventually(lambda: IngestionJob.objects.get(pk=job.pk).finished_at)
    assert states(job) == {(State.DONE, 1)}
    worker.stop()
    assert states(job) == {(State.DONE, 1)}
    assert Document.objects.count() == 1


def test_a_stop_is_no_attempt_and_a_crash_is_one(
    live_world: World, worker: Worker, model_provider: ProviderServer, eventually: Eventually
) -> None:
    job = submit_to_waiting_model(live_world, worker, model_provider, eventually)
    worker.ask_to_stop()
    eventually(lambda: states(job) == {(State.QUEUED, 0)})
    assert job.documents.get().error_code == "", "it has not waited until the model fails"
    worker.kill()
    worker.start()
    eventually(lambda: len(model_provider.requests) == 2)
    worker.kill()
    worker.start()
    eventually(lambda: len(model_provider.requests) == 3)
    assert states(job) == {(State.RUNNING, 2)}
    model_provider.stall.set()
    eventually(lambda: IngestionJob.objects.get(pk=job.pk).finished_at)


def test_the_documents_of_a_worker_that_loses_redis_are_given_back(
    live_world: World, worker: Worker, model_provider: ProviderServer, eventually: Eventually
) -> None:
    """Celery ends the processes whose task it could not acknowledge any more. That is no attempt, either."""
    job = submit_to_waiting_model(live_world, worker, model_provider, eventually)
    worker.lose_broker()
    eventually(lambda: len(model_provider.requests) == 2)
    assert states(job) == {(State.RUNNING, 1)}
    model_provider.stall.set()
    eventually(lambda: IngestionJob.objects.get(pk=job.pk).finished_at)
    assert states(job) == {(State.DONE, 1)}


def test_what_is_not_written_goes_back_to_the_queue_and_other_workers_hear_of_it(
    live_world: World, stop: Stop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker has read one of three documents. One of them was lost by a worker that died."""
    purge_queue()
    source = live_world.source()
    job = submit(live_world, source, "a", "b", "c")
    purge_queue()
    parse = parse_chunk_embed.parse_and_chunk

    def stop_meanwhile(*arguments: Any, **options: Any) -> Any:
        stop.is_requested = True
        return parse(*arguments, **options)

    monkeypatch.setattr(parse_chunk_embed, "parse_and_chunk", stop_meanwhile)
    document_processing.process_next(count=3)
    assert states(job) == {(State.QUEUED, 0)}
    assert not job.documents.exclude(lease=None, due_at=None, stage="").exists()
    assert task_queue.count_waiting()
    purge_queue()
    document_processing.process_next(count=3)
    assert states(job) == {(State.QUEUED, 0)}, "a worker that stops begins nothing"
    assert task_queue.count_waiting() == 1, "its message is for another one"
    purge_queue()


def test_a_long_document_ends_between_two_calls_of_the_model(
    live_world: World, stop: Stop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its earlier lost attempt still counts."""
    job = submit(live_world, live_world.source(), "a", words=4_000)
    job.documents.update(attempts=1)
    reports: list[int] = []

    def stop_after_the_first(
        documents: Any, source: DataSource, *, on_batch: Callable[[int], None]
    ) -> list[parse_chunk_embed.PreparedDocument]:
        on_batch(1)
        reports.append(1)
        stop.is_requested = True
        on_batch(2)
        reports.append(2)
        return []

    monkeypatch.setattr(parse_chunk_embed, "embed_documents", stop_after_the_first)
    document_processing.process_next(count=1)
    assert reports == [1]
    assert states(job) == {(State.QUEUED, 1)}
    purge_queue()


def test_what_is_being_written_is_written(
    live_world: World, stop: Stop, monkeypatch: pytest.MonkeyPatch, eventually: Eventually
) -> None:
    """If the process is killed before the end, the sweep puts the document back, and that is no attempt either."""
    job = submit(live_world, live_world.source(), "a")
    write = index.index_documents
    meanwhile: list[set[tuple[str, int]]] = []

    def stop_meanwhile(*arguments: Any, **options: Any) -> Any:
        stop.is_requested = True
        eventually(lambda: states(job) == {(State.RUNNING, 0)})
        meanwhile.append(states(job))
        return write(*arguments, **options)

    monkeypatch.setattr(index, "index_documents", stop_meanwhile)
    document_processing.process_next(count=1)
    assert meanwhile == [{(State.RUNNING, 0)}]
    assert {state for state, _ in states(job)} == {State.DONE}
    assert Document.objects.count() == 1
    purge_queue()
