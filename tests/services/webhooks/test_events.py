"""Which events webhooks receive, and that an event is stored exactly if what causes it is committed."""

import datetime
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from orgs.access.caller import Caller
from rag.models import IngestionDocument, IngestionJob, Reembedding, Usage, Webhook, WebhookDelivery
from rag.services.ingestion import build_submissions, document_outcomes
from rag.services.ingestion.queue import recovery_sweep
from rag.services.jobs import close_and_cancel
from rag.services.jobs.create_job import create_job
from rag.services.webhooks import events, quota_events
from rag.types import Submission
from ragsite.postgres import identity
from tests.services.webhooks.conftest import Create
from tests.support.factories import World, process_queue

State = IngestionDocument.State


def submit_texts(world: World, *, count: int = 2) -> IngestionJob:
    submissions = [Submission(path=f"doc-{number}", title="A", text=f"Zebra {number}.") for number in range(count)]
    return create_job(
        source=world.source(),
        submissions=submissions,
        options=build_submissions.default_chunking_options(),
        actor=world.users["editor"],
    )


def fail_document(job: IngestionJob, index: int) -> None:
    documents = job.documents.filter(index=index)
    documents.update(state=State.RUNNING)
    document_outcomes.record_failure(documents.get(), "PARSE_ERROR", "The file is damaged.")


def stored() -> list[tuple[str, dict[str, Any]]]:
    deliveries = WebhookDelivery.objects.order_by("created_at", "event")
    return [(delivery.event, delivery.payload["data"]) for delivery in deliveries]


def test_the_end_of_a_job_and_its_failed_documents(world: World, create: Create) -> None:
    create()
    job = submit_texts(world)
    fail_document(job, 0)
    process_queue()
    close_and_cancel.close_if_finished(job.pk)
    document = job.documents.get(index=0)
    source = {"dataSourceId": str(job.source_id), "dataSource": "library"}
    failure = {"errorCode": "PARSE_ERROR", "errorMessage": "The file is damaged."}
    failed_document = {"jobId": str(job.pk), "documentId": str(document.pk), "path": "doc-0", **failure, **source}
    finished = {"jobId": str(job.pk), "status": "completed", **source, "total": 2, "done": 1, "failed": 1}
    assert stored() == [("document.failed", failed_document), ("job.finished", finished)]
    assert "Zebra" not in str(stored()), "no text of documents is sent"
    close_and_cancel.close_if_finished(job.pk)
    assert len(stored()) == 2, "a job ends once"


def test_a_job_of_which_every_document_failed(world: World, create: Create) -> None:
    create(events=["job.failed"])
    job = submit_texts(world, count=1)
    fail_document(job, 0)
    close_and_cancel.close_if_finished(job.pk)
    assert [(event, data["failed"]) for event, data in stored()] == [("job.failed", 1)]


def test_documents_that_lost_their_worker(world: World, create: Create) -> None:
    create(events=["document.failed"])
    job = submit_texts(world, count=1)
    past = timezone.now() - datetime.timedelta(minutes=1)
    job.documents.update(state=State.RUNNING, attempts=99, due_at=past)
    recovery_sweep.sweep()
    assert [(event, data["errorCode"]) for event, data in stored()] == [("document.failed", "WORKER_LOST")]
    assert "Retry it." in stored()[0][1]["errorMessage"], "it says what to do"


def test_documents_that_cannot_be_read_fail_when_they_are_submitted(world: World, create: Create) -> None:
    create(events=["document.failed"])
    unread = Submission(path="a.exe", title="", text="", parse_error="No.", parse_error_code="UNSUPPORTED_FORMAT")
    create_job(
        source=world.source(),
        submissions=[unread, Submission(path="b", title="B", text="Zebra.")],
        options=build_submissions.default_chunking_options(),
        actor=world.users["editor"],
    )
    assert [(event, data["path"], data["errorCode"]) for event, data in stored()] == [
        ("document.failed", "a.exe", "UNSUPPORTED_FORMAT")
    ]


def test_an_event_is_stored_only_with_its_cause(world: World, create: Create) -> None:
    create()
    job = submit_texts(world, count=1)
    with transaction.atomic():
        fail_document(job, 0)
        assert len(stored()) == 1
        transaction.set_rollback(True)
    assert stored() == []


def test_only_webhooks_of_the_organisation_that_want_an_event_get_it(world: World, create: Create) -> None:
    create(events=["source.reembedded"])
    create(is_active=False)
    abroad, _ = create()
    Webhook.objects.filter(pk=abroad.pk).update(organization=world.abroad)
    subscribed, _ = create(events=["job.finished"])
    job = submit_texts(world, count=1)
    process_queue()
    close_and_cancel.close_if_finished(job.pk)
    assert [delivery.webhook for delivery in WebhookDelivery.objects.all()] == [subscribed]


def test_a_request_can_end_a_job_and_fail_its_documents_and_forge_nothing(world: World, create: Create) -> None:
    """An editor may end a job and send what cannot be read, and sees no webhook.

    Injected SQL cannot make up events of other kinds.
    """
    create()
    job = submit_texts(world, count=1)
    process_queue()
    IngestionJob.objects.filter(pk=job.pk).update(status="processing", finished_at=None)
    WebhookDelivery.objects.all().delete()
    with identity.run_as(Caller(world.users["editor"]).database_identity):
        close_and_cancel.close_if_finished(job.pk)
        events.record_event(world.home.pk, "document.failed", {})
        events.record_event(world.home.pk, "quota.nearly_reached", {})
        events.record_event(world.abroad.pk, "job.failed", {})
        assert not Webhook.objects.exists()
    assert [event for event, _ in stored()] == ["document.failed", "job.finished"]


def test_a_source_that_was_switched_to_another_model(world: World, create: Create) -> None:
    create()
    source = world.source()
    model = source.embedding_model
    events.record_reembedding(Reembedding(source=source, from_model=model, to_model=model))
    assert stored() == [
        (
            "source.reembedded",
            {"dataSourceId": str(source.pk), "dataSource": "library", "fromModel": model.name, "toModel": model.name},
        )
    ]


def test_a_quota_is_reported_once_until_it_was_below(world: World, create: Create) -> None:
    create(events=["quota.nearly_reached"])
    world.home.max_chunks = 100
    world.home.save()
    reported = []
    for chunks in (89, 90, 95, 86, 95, 84, 91):
        Usage.objects.update_or_create(organization=world.home, defaults={"chunks": chunks})
        quota_events.record_nearly_reached()
        reported.append(WebhookDelivery.objects.count())
    assert reported == [0, 1, 1, 1, 1, 1, 2]
    assert stored()[0][1] == {"organization": "home", "quotas": [{"resource": "chunks", "used": 90, "limit": 100}]}


def test_an_unreachable_webhook_stores_a_bounded_number_of_events(
    world: World, create: Create, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "_MAX_WAITING_DOCUMENTS", 2)
    webhook, _ = create()
    job = submit_texts(world, count=3)
    for index in range(3):
        fail_document(job, index)
    close_and_cancel.close_if_finished(job.pk)
    webhook.refresh_from_db()
    assert [event for event, _ in stored()] == ["document.failed"] * 2 + ["job.failed"]
    assert webhook.skipped == 1
