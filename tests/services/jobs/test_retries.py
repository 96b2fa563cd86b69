"""What was sent of failed documents is kept for a while, and they can be tried again until then."""

import datetime

import pytest
from django.utils import timezone

from orgs.access.caller import Caller
from rag.errors import NothingToRetry
from rag.models import Document, IngestionDocument, IngestionJob
from rag.services.ingestion import inputs, outcomes
from rag.services.jobs import lifecycle, queries, retries, submit
from rag.types import Submission
from tests.support.factories import World, ingest_text, process_queue

State, Status = IngestionDocument.State, IngestionJob.Status


def failed_job(world: World, *, count: int = 2) -> IngestionJob:
    """Its first document has failed; the others are done."""
    source = world.home.sources.first() or world.source()
    submissions = [Submission(path=f"doc-{each}", title="A", text=f"Zebra {each}.") for each in range(count)]
    job = submit.submit_job(
        source=source, submissions=submissions, options=inputs.default_chunking_options(), actor=world.users["editor"]
    )
    job.documents.filter(index=0).update(state=State.RUNNING, attempts=3, outages=2)
    outcomes.record_failure(job.documents.get(index=0), "INTERNAL_ERROR", "An unexpected error.")
    process_queue()
    lifecycle.close_if_finished(job.pk)
    job.refresh_from_db()
    return job


def test_a_retry_does_what_failed_and_only_that(world: World) -> None:
    job = failed_job(world)
    assert job.status == Status.COMPLETED
    done = job.documents.get(index=1)
    retries.retry_job(Caller(world.users["editor"]), job.pk)
    job.refresh_from_db()
    row = job.documents.get(index=0)
    assert (job.status, job.finished_at) == (Status.PROCESSING, None)
    assert (row.state, row.attempts, row.outages, row.error_code, row.finished_at) == (State.QUEUED, 0, 0, "", None)
    assert process_queue() == 1
    job.refresh_from_db()
    row.refresh_from_db()
    assert (job.status, row.state, row.text) == (Status.COMPLETED, State.DONE, "")
    assert job.finished_at
    assert job.documents.get(index=1).finished_at == done.finished_at
    assert Document.objects.count() == 2


def test_a_retry_does_not_bring_an_older_version_back(world: World) -> None:
    job = failed_job(world, count=1)
    ingest_text(job.source, "doc-0", "Lions.")
    retries.retry_job(Caller(world.users["editor"]), job.pk)
    process_queue()
    assert Document.objects.get().text == "Lions."
    assert job.documents.get().state == State.DONE


def test_what_is_kept_is_forgotten_in_time_and_the_rows_stay(world: World) -> None:
    old, young = failed_job(world), failed_job(world)
    past = timezone.now() - datetime.timedelta(days=31)
    IngestionDocument.objects.filter(job=old).update(finished_at=past)
    retries.delete_expired_inputs()
    assert (old.documents.count(), old.documents.exclude(text="").count()) == (2, 0)
    assert young.documents.exclude(text="").count() == 1
    with pytest.raises(NothingToRetry, match="not kept any more"):
        retries.retry_job(Caller(world.users["editor"]), old.pk)
    retries.retry_job(Caller(world.users["editor"]), young.pk)


def test_forgetting_takes_any_number_in_small_batches(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "_FORGOTTEN", 2)
    past = timezone.now() - datetime.timedelta(days=31)
    for _ in range(5):
        failed_job(world, count=1)
    IngestionDocument.objects.update(finished_at=past)
    retries.delete_expired_inputs()
    assert not IngestionDocument.objects.exclude(text="").exists()


def test_there_must_be_something_to_try_again(world: World) -> None:
    editor = world.users["editor"]
    job = failed_job(world, count=3)
    retries.retry_job(Caller(editor), job.pk)
    with pytest.raises(NothingToRetry, match="has failed"):
        retries.retry_job(Caller(editor), job.pk)
    queries.cancel_job(Caller(editor), job.pk)
    with pytest.raises(NothingToRetry, match="cancelled"):
        retries.retry_job(Caller(editor), job.pk)
    assert not job.documents.filter(state=State.QUEUED).exists()
