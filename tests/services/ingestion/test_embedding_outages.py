"""Outages of an embedding endpoint: few requests while it is down, and no document or worker is blamed for it."""

import datetime
from typing import Any

import pytest
from django.utils import timezone

from rag.errors import EmbeddingFailed
from rag.models import DataSource, EmbeddingModel, IngestionDocument, IngestionJob, ModelOutage
from rag.providers import provider_factory
from rag.services.ingestion import build_submissions, document_outcomes, document_processing
from rag.services.ingestion.queue import claims, embedding_outages, recovery_sweep
from rag.services.jobs.create_job import create_job
from rag.types import Submission
from tests.support.factories import World, process_queue
from tests.support.servers.provider_server import ProviderServer

State = IngestionDocument.State


@pytest.fixture(autouse=True)
def no_client_retries(settings: Any) -> None:
    settings.RAG_EMBEDDING_MAX_RETRIES = 0
    provider_factory.remote_embedder.cache_clear()


def queue(world: World, model_provider: ProviderServer, count: int) -> IngestionJob:
    model, _ = EmbeddingModel.objects.get_or_create(
        name="remote", defaults={"provider": "openai", "dimensions": 384, "base_url": model_provider.base_url}
    )
    source = DataSource.objects.filter(slug="remote").first() or world.source("remote", embedding_model=model)
    submissions = [Submission(path=f"doc-{number}", title="Zebras", text=f"Zebra {number}.") for number in range(count)]
    return create_job(
        source=source,
        submissions=submissions,
        options=build_submissions.default_chunking_options(),
        actor=world.users["editor"],
    )


def time_passes() -> None:
    """Make everything due that was postponed."""
    past = timezone.now() - datetime.timedelta(seconds=1)
    IngestionDocument.objects.exclude(due_at=None).update(due_at=past)
    ModelOutage.objects.update(until=past)
    recovery_sweep.sweep()


def test_an_endpoint_that_is_down_gets_few_requests_and_not_one_per_document(
    world: World, model_provider: ProviderServer
) -> None:
    job = queue(world, model_provider, 200)
    for _ in range(1000):
        model_provider.fail(503)
    process_queue()
    first_requests = len(model_provider.requests)
    assert 1 <= first_requests <= 8, "at most one for each document of a claim"
    for pauses in range(1, 11):
        time_passes()
        process_queue()
        assert len(model_provider.requests) <= first_requests + pauses, "one probe per pause"
    queued = job.documents.filter(state=State.QUEUED)
    assert (queued.count(), queued.filter(attempts=0).count()) == (200, 200)
    model_provider.faults.clear()
    time_passes()
    process_queue()
    time_passes()
    process_queue()
    assert job.documents.filter(state=State.DONE).count() == 200
    assert not job.documents.exclude(error_code="").exists()
    assert not ModelOutage.objects.exists()


def test_outages_use_up_no_attempts_and_are_limited(
    world: World, model_provider: ProviderServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding_outages, "MAX_OUTAGES", 5)
    job = queue(world, model_provider, 1)
    for number in range(1, 6):
        model_provider.fail(503)
        assert process_queue() == 1
        row = job.documents.get()
        assert row.outages == min(number, 4)
        if number < 5:
            assert (row.state, row.attempts, row.error_code) == (State.QUEUED, 0, "EMBEDDING_FAILED")
            assert row.due_at
            assert row.due_at > timezone.now()
            assert process_queue() == 0, "not before the pause is over"
            time_passes()
    assert (row.state, row.error_code, row.text) == (State.FAILED, "EMBEDDING_FAILED", "Zebra 0.")


def test_documents_wait_about_an_hour_for_a_model() -> None:
    assert datetime.timedelta(minutes=45) < embedding_outages.max_outage_duration() < datetime.timedelta(minutes=75)
    pauses = [embedding_outages.pause_after(times).total_seconds() for times in range(1, 40)]
    assert 10 <= pauses[0] <= 15
    assert 20 <= pauses[1] <= 30
    assert max(pauses) <= 360


@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_is_respected(world: World, model_provider: ProviderServer, status: int) -> None:
    job = queue(world, model_provider, 2)
    model_provider.fail(status, Retry_After="600")
    (row, _) = claims.claim_next(2)
    document_processing.process_documents([row])
    row = job.documents.get(index=0)
    in_9_minutes = timezone.now() + datetime.timedelta(minutes=9)
    assert row.due_at
    assert row.due_at > in_9_minutes
    assert ModelOutage.objects.get().until > in_9_minutes
    assert process_queue() == 0


def test_retry_after_is_limited_to_an_hour() -> None:
    assert embedding_outages.pause_after(1, retry_after_seconds=10**9) == datetime.timedelta(hours=1)


def test_a_wrong_key_fails_without_retries(world: World, model_provider: ProviderServer) -> None:
    job = queue(world, model_provider, 1)
    model_provider.fail(401)
    process_queue()
    assert job.documents.get().state == State.FAILED
    assert not ModelOutage.objects.exists()


def test_documents_of_other_models_are_processed_during_an_outage(world: World, model_provider: ProviderServer) -> None:
    queue(world, model_provider, 3)
    model_provider.fail(503)
    (row, *_) = claims.claim_next(1)
    document_processing.process_documents([row])
    local = create_job(
        source=world.source("local"),
        submissions=[Submission(path="a", title="A", text="Zebras.")],
        options=build_submissions.default_chunking_options(),
        actor=world.users["editor"],
    )
    assert process_queue() == 1
    assert local.documents.get().state == State.DONE


def test_a_single_document_probes_the_model_and_the_others_follow(world: World, model_provider: ProviderServer) -> None:
    queue(world, model_provider, 10)
    model_provider.fail(503)
    (row,) = claims.claim_next(1)
    document_processing.process_documents([row])
    time_passes()
    (probe,) = claims.claim_next(8)
    assert claims.claim_next(8) == []
    document_processing.process_documents([probe])
    assert len(claims.claim_next(8)) == 8


def test_a_probe_that_fails_before_calling_the_model_is_replaced(world: World, model_provider: ProviderServer) -> None:
    queue(world, model_provider, 3)
    model_provider.fail(503)
    (row,) = claims.claim_next(1)
    document_processing.process_documents([row])
    time_passes()
    (probe,) = claims.claim_next(8)
    document_outcomes.record_failure(probe, "PARSE_ERROR", "It is empty.")
    (other,) = claims.claim_next(8)
    assert other.pk != probe.pk


def test_simultaneous_failures_count_as_one(world: World, model_provider: ProviderServer) -> None:
    queue(world, model_provider, 5)
    rows = claims.claim_next(5)
    for row in rows:
        document_outcomes.record_error(row, EmbeddingFailed("It cannot be reached."))
    outage = ModelOutage.objects.get()
    assert outage.tries == 1
    assert outage.until < timezone.now() + datetime.timedelta(seconds=16)


def test_documents_that_waited_for_the_whole_outage_fail_without_a_request_for_each(
    world: World, model_provider: ProviderServer
) -> None:
    waiting = queue(world, model_provider, 30)
    model_provider.fail(503)
    (row,) = claims.claim_next(1)
    document_processing.process_documents([row])
    later = queue(world, model_provider, 2)
    long_ago = timezone.now() - embedding_outages.max_outage_duration() - datetime.timedelta(seconds=1)
    ModelOutage.objects.update(since=long_ago)
    IngestionDocument.objects.filter(job=waiting).update(queued_at=long_ago)
    recovery_sweep.sweep()
    assert len(model_provider.requests) == 1
    waiting.refresh_from_db()
    assert waiting.status == IngestionJob.Status.FAILED
    assert waiting.documents.filter(error_code="EMBEDDING_FAILED").exclude(text="").count() == 30
    assert later.documents.filter(state=State.QUEUED).count() == 2, "they have not waited long enough"


def test_an_outage_without_recent_tries_is_deleted(world: World, model_provider: ProviderServer) -> None:
    """Otherwise documents that are sent weeks later would fail without a try."""
    queue(world, model_provider, 2)
    model_provider.fail(503)
    document_processing.process_documents(claims.claim_next(1))
    ModelOutage.objects.update(
        until=timezone.now() - embedding_outages.max_outage_duration() - datetime.timedelta(seconds=1)
    )
    recovery_sweep.sweep()
    assert not ModelOutage.objects.exists()


def test_a_text_that_the_model_cannot_embed_fails_alone(
    world: World, model_provider: ProviderServer, settings: Any
) -> None:
    settings.RAG_MAX_ATTEMPTS = 2
    job = queue(world, model_provider, 6)
    model_provider.break_on = "Zebra 3."
    process_queue()
    assert job.documents.filter(state=State.DONE).count() == 5
    row = job.documents.exclude(state=State.DONE).get()
    assert (row.path, row.state, row.attempts) == ("doc-3", State.QUEUED, 1)
    assert not ModelOutage.objects.exists()
    time_passes()
    process_queue()
    row.refresh_from_db()
    assert (row.state, row.error_code, row.text) == (State.FAILED, "EMBEDDING_FAILED", "Zebra 3.")
    assert not ModelOutage.objects.exists()


def test_a_model_that_cannot_embed_anything_gets_few_requests(world: World, model_provider: ProviderServer) -> None:
    job = queue(world, model_provider, 30)
    model_provider.break_on = "Zebra"
    process_queue()
    assert len(model_provider.requests) <= 4
    assert ModelOutage.objects.exists()
    assert set(job.documents.values_list("state", "attempts")) == {(State.QUEUED, 0)}
