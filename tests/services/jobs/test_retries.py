"""Retries of failed documents."""

import pytest

from orgs.access.caller import Caller
from rag.errors import NothingToRetry
from rag.models import Document, IngestionDocument, IngestionJob
from rag.services.ingestion import build_submissions, document_outcomes
from rag.services.jobs import close_and_cancel, manual_retries
from rag.services.jobs.create_job import create_job
from rag.types import Submission
from tests.support.factories import World, ingest_text, process_queue

State, Status = IngestionDocument.State, IngestionJob.Status


def failed_job(world: World, *, count: int = 2) -> IngestionJob:
    """Return a finished job whose first document has failed; the others are done."""
    source = world.home.sources.first() or world.source()
    submissions = [Submission(path=f"doc-{number}", title="A", text=f"Zebra {number}.") for number in range(count)]
    job = create_job(
        source=source,
        submissions=submissions,
        options=build_submissions.default_chunking_options(),
        actor=world.users["editor"],
    )
    job.documents.filter(index=0).update(state=State.RUNNING, attempts=3, outages=2)
    document_outcomes.record_failure(job.documents.get(index=0), "INTERNAL_ERROR", "An unexpected error.")
    process_queue()
    close_and_cancel.close_if_finished(job.pk)
    job.refresh_from_db()
    return job


def test_a_retry_processes_failed_documents_only(world: World) -> None:
    job = failed_job(world)
    assert job.status == Status.COMPLETED
    done = job.documents.get(index=1)
    manual_retries.retry_job(Caller(world.users["editor"]), job.pk)
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


def test_a_retry_does_not_restore_an_older_version(world: World) -> None:
    job = failed_job(world, count=1)
    ingest_text(job.source, "doc-0", "Lions.")
    manual_retries.retry_job(Caller(world.users["editor"]), job.pk)
    process_queue()
    assert Document.objects.get().text == "Lions."
    assert job.documents.get().state == State.DONE


def test_a_job_without_retryable_documents_is_refused(world: World) -> None:
    editor = world.users["editor"]
    job = failed_job(world, count=3)
    manual_retries.retry_job(Caller(editor), job.pk)
    with pytest.raises(NothingToRetry, match="has failed"):
        manual_retries.retry_job(Caller(editor), job.pk)
    close_and_cancel.cancel_job(Caller(editor), job.pk)
    with pytest.raises(NothingToRetry, match="cancelled"):
        manual_retries.retry_job(Caller(editor), job.pk)
    assert not job.documents.filter(state=State.QUEUED).exists()
