"""What processes measure is stored, added up over processes, and shows no text."""

import logging
import threading
import uuid
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
import structlog
from django.core.serializers import serialize
from django.test import Client
from django.utils import timezone

from orgs.access.caller import Caller
from rag.errors import EmbeddingFailed
from rag.models import Measurement, RecordedError, SlowOperation
from rag.providers import provider_factory
from rag.services.ingestion import build_submissions, document_outcomes, document_processing
from rag.services.ingestion.queue import leases, recovery_sweep
from rag.services.jobs.create_job import create_job
from rag.services.operations import workers
from rag.services.operations.measurements import measurement_summaries, recording
from rag.services.queries import permitted_queries
from rag.services.queries.source_selection import SourceSelection
from rag.types import AnswerOptions, Mode, Question, Submission
from ragsite.observability import measurement_buffer
from tests.support.factories import World, ingest_text


@pytest.fixture(autouse=True)
def nothing_measured() -> Iterator[None]:
    measurement_buffer.take()
    yield
    measurement_buffer.take()


def summary(kind: str, name: str, *organizations: uuid.UUID) -> measurement_summaries.Summary:
    summaries = measurement_summaries.summarize(kind, organizations=organizations or (measurement_buffer.EVERYBODY,))
    return next((entry for entry in summaries if entry.name == name), measurement_summaries.Summary(name))


@pytest.mark.django_db
def test_sums_of_several_processes_are_added() -> None:
    for milliseconds in (3, 40, 40, 9_000):
        measurement_buffer.record("operation", "query", milliseconds, failed=milliseconds > 5_000)
        recording.store_measurements()
    stored = summary("operation", "query")
    assert (stored.count, stored.failures, stored.milliseconds) == (4, 1, 9_083)
    assert 25 <= (stored.p50 or 0) <= 50
    assert 5_000 < (stored.p95 or 0) <= 10_000
    totals = Measurement.objects.get(period=measurement_summaries.ALL_TIME)
    assert (totals.count, sum(totals.histogram)) == (4, 4)


@pytest.mark.django_db
def test_nothing_is_lost_while_others_measure() -> None:
    """Threads of a web process measure while another one stores."""

    def work() -> None:
        for _ in range(500):
            measurement_buffer.record("operation", "query", 1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        recording.store_measurements()
    recording.store_measurements()
    assert summary("operation", "query").count == 2_000


def test_a_question_is_measured_with_its_stages_and_without_its_text(world: World) -> None:
    ingest_text(world.source(), "zebra.txt", "Zebras have stripes. The stripes of zebras confuse flies.")
    selection = SourceSelection(Caller(world.users["member"]))
    question = Question(text="What do the stripes of zebras confuse?", top_k=5, rerank=True)
    measurement_buffer.take()
    permitted_queries.run_to_completion(
        permitted_queries.ask(question, selection, AnswerOptions(max_prompt_tokens=1000))
    )
    recording.store_measurements()
    for stage in ("embed", "search", "rerank", "ground", "generate"):
        assert summary("query_stage", stage).count == 1, stage
    assert summary("operation", "query", world.home.pk).count == 1
    assert summary("operation", "answer", world.home.pk).failures == 0, "it is grounded"
    assert summary("operation", "query", world.abroad.pk).count == 0
    slow = SlowOperation.objects.get(kind="query")
    assert set(slow.stages) == {"embed", "search", "rerank", "ground", "generate"}
    stored = serialize("json", [*Measurement.objects.all(), *SlowOperation.objects.all()])
    assert "zebra" not in stored.lower()


def test_a_question_fails_if_the_model_does_and_not_if_the_caller_errs(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    selection = SourceSelection(Caller(world.users["foreigner"]))
    assert permitted_queries.search(Question(text="zebras", top_k=5), selection) is permitted_queries.NO_RESULTS
    recording.store_measurements()
    assert (summary("operation", "query").count, summary("operation", "query").failures) == (1, 0)
    world.source()

    def refuse(*_: object) -> None:
        raise EmbeddingFailed("The model is down.")

    monkeypatch.setattr(provider_factory, "embedder", refuse)
    selection = SourceSelection(Caller(world.users["member"]))
    with pytest.raises(EmbeddingFailed):
        permitted_queries.retrieve(Question(text="zebras", top_k=5, mode=Mode.DENSE), selection)
    recording.store_measurements()
    assert (summary("operation", "query").count, summary("operation", "query").failures) == (2, 1)


@pytest.mark.django_db(transaction=True)
def test_documents_are_measured_by_outcome_and_stage(live_world: World) -> None:
    submissions = [
        Submission(path="a.txt", title="a", text="Zebras."),
        Submission(path="b.pdf", title="b", text="Not a PDF.", content_type="application/pdf"),
    ]
    source, options = live_world.source(), build_submissions.default_chunking_options()
    create_job(source=source, submissions=submissions, options=options, actor=live_world.users["editor"])
    measurement_buffer.take()
    document_processing.process_next(count=2)
    recording.store_measurements()
    documents = summary("operation", "document", live_world.home.pk)
    assert documents.count == 2
    assert summary("document_stage", "parsing").count >= 1
    assert SlowOperation.objects.filter(kind="document", organization=live_world.home.pk).exists()


@pytest.mark.django_db(transaction=True)
def test_every_failed_document_is_counted(live_world: World) -> None:
    """Whether it fails when it is submitted, in a worker, or because workers were lost."""
    submissions = [
        Submission(path="a.exe", title="a", text="", parse_error="No."),
        Submission(path="b.pdf", title="b", text="Not a PDF."),
        Submission(path="c.txt", title="c", text="Zebras."),
    ]
    source, options = live_world.source(), build_submissions.default_chunking_options()
    job = create_job(source=source, submissions=submissions, options=options, actor=live_world.users["editor"])
    claimed = job.documents.filter(index=1)
    claimed.update(state="running")
    document_outcomes.record_failure(claimed.get(), "PARSE_ERROR", "The file is damaged.")
    job.documents.filter(index=2).update(state="running", attempts=99, due_at=timezone.now() - timedelta(minutes=1))
    recovery_sweep.sweep()
    recording.store_measurements()
    documents = summary("operation", "document", live_world.home.pk)
    assert (documents.count, documents.failures) == (3, 3)


def test_measurements_are_stored_while_a_task_runs(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A large document takes many minutes, and what a process has measured is lost if it is killed meanwhile."""
    stored = threading.Event()
    monkeypatch.setattr(recording, "store_measurements", stored.set)
    settings.RAG_LEASE_SECONDS = 0.01
    with leases.keep_leases():
        assert stored.wait(30)


@pytest.mark.django_db(transaction=True)
def test_a_worker_stores_what_its_main_process_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    """It runs no tasks, and is the one that logs that a process was killed."""
    stored = threading.Event()
    monkeypatch.setattr(recording, "store_measurements", stored.set)
    reporter = workers.Reporter(name="one@host", queues=["ingestion"], slots=2, list_running=list)
    reporter.start()
    assert stored.wait(30)
    reporter.stop()


@pytest.mark.django_db
def test_errors_of_the_log_are_kept_without_their_messages() -> None:
    structlog.contextvars.bind_contextvars(request_id="req-7")
    try:
        try:
            raise ValueError("the text of a question")
        except ValueError:
            structlog.get_logger("tests").exception("answer_crashed")
        logging.getLogger("library").error("cannot read %s", "the text of a question")
        structlog.get_logger("tests").error("request_finished", code=503)
    finally:
        structlog.contextvars.unbind_contextvars("request_id")
    recording.store_measurements()
    first, second, third = RecordedError.objects.order_by("id")
    assert (first.event, first.exception, first.request_id) == ("answer_crashed", "ValueError", "req-7")
    assert (second.event, second.exception) == ("library", "")
    assert third.event == "request_finished 503"
    assert "question" not in serialize("json", [first, second])


@pytest.mark.django_db
def test_what_strangers_send_is_no_error_of_this_side(client: Client) -> None:
    """A robot that tries host names would push all errors out of the page "Operations"."""
    assert client.get("/sign-in", headers={"host": "evil.example"}).status_code == 400
    assert measurement_buffer.take().errors == []


def test_no_failure_ends_the_thread_that_keeps_leases(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise ValueError("A string literal cannot contain NUL characters.")

    with monkeypatch.context() as patch:
        patch.setattr(measurement_buffer, "take", fail)
        recording.store_meanwhile()
        with pytest.raises(ValueError, match="NUL"):
            recording.store_measurements()
