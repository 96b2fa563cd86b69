"""Stores the events for webhooks, in the transaction in which they happen (a transactional outbox).

Events hold ids, names, paths, counts and error messages; never text of documents or questions.
"""

import datetime
import json
import uuid
from collections.abc import Mapping, Sequence

from django.db import connection, transaction
from django.utils import timezone

from rag import task_queue
from rag.models import (
    DataSource,
    IngestionDocument,
    IngestionJob,
    Reembedding,
    SyncRun,
    Webhook,
    WebhookDelivery,
    WebhookEvent,
)

DELIVERY_TASK = "rag.deliver_webhooks"
# A webhook with this many waiting deliveries skips further events; failed documents stop earlier, so that there is room
# for the end of their job.
_MAX_WAITING = 2_000
_MAX_WAITING_DOCUMENTS = 1_000
_SYNC_EVENTS: dict[str, WebhookEvent] = {
    SyncRun.State.FINISHED: WebhookEvent.SYNC_FINISHED,
    SyncRun.State.FAILED: WebhookEvent.SYNC_FAILED,
    SyncRun.State.WAITING: WebhookEvent.SYNC_WAITING,
}


def record_job_end(job: IngestionJob) -> None:
    """Record that a job was completed or has failed, inside the transaction that closes it."""
    event = WebhookEvent.JOB_FAILED if job.status == IngestionJob.Status.FAILED else WebhookEvent.JOB_FINISHED
    source = DataSource.objects.only("slug", "organization_id").get(pk=job.source_id)
    if not _has_webhook(source.organization_id, event):
        return
    progress = IngestionJob.objects.with_progress().get(pk=job.pk)
    counts = {"total": progress.total, "done": progress.done, "failed": progress.failed}
    record_event(
        source.organization_id, event, {"jobId": str(job.pk), "status": job.status, **_source_out(source), **counts}
    )


def record_failed_documents(document_ids: Sequence[uuid.UUID]) -> None:
    """Record that job documents have failed, inside the transaction that marks them."""
    documents = IngestionDocument.objects.filter(pk__in=document_ids, state=IngestionDocument.State.FAILED)
    rows = documents.select_related("job__source").defer("text").order_by("pk")
    organizations = set(rows.order_by().values_list("job__source__organization_id", flat=True).distinct())
    if not any(_has_webhook(organization, WebhookEvent.DOCUMENT_FAILED) for organization in organizations):
        return
    for document in rows:
        source = document.job.source
        failure = {"errorCode": document.error_code, "errorMessage": document.error_message}
        data = {"jobId": str(document.job_id), "documentId": str(document.pk), "path": document.path, **failure}
        record_event(
            source.organization_id,
            WebhookEvent.DOCUMENT_FAILED,
            {**data, **_source_out(source)},
            max_waiting=_MAX_WAITING_DOCUMENTS,
        )


def record_reembedding(reembedding: Reembedding) -> None:
    """Record that a source was switched to another model, inside the transaction that switches it."""
    models = {"fromModel": reembedding.from_model.name, "toModel": reembedding.to_model.name}
    source = reembedding.source
    record_event(source.organization_id, WebhookEvent.SOURCE_REEMBEDDED, {**_source_out(source), **models})


def record_sync(run: SyncRun) -> None:
    """Record that a sync has ended or waits for a confirmation, inside the transaction in which it does.

    A sync that a person has stopped is not an event: they can resume it.
    """
    event = _SYNC_EVENTS.get(run.state)
    source = DataSource.objects.only("slug", "organization_id").get(sync_connection=run.connection_id)
    if event is None or not _has_webhook(source.organization_id, event):
        return
    counts = {name: getattr(run, name) for name in ("added", "changed", "renamed", "removed", "missing", "failed")}
    data = {"syncId": str(run.pk), "state": run.state, **_source_out(source), **counts, "error": run.error}
    record_event(source.organization_id, event, data)


def record_for(webhook: Webhook, event: str, data: Mapping[str, object]) -> WebhookDelivery:
    """Store a delivery for this webhook only, and notify a worker."""
    now = timezone.now()
    delivery = WebhookDelivery.objects.create(
        webhook=webhook, event=event, payload=_payload(event, data, now), created_at=now, due_at=now
    )
    notify_worker()
    return delivery


def notify_worker() -> None:
    """Send a message on commit. If it is lost, the periodic task sends what is due."""
    task_queue.send(DELIVERY_TASK, expires=60)


def _has_webhook(organization_id: uuid.UUID, event: str) -> bool:
    """Return whether a webhook subscribes to the event. Otherwise, its data need not be read."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT rag_has_webhook(%s, %s)", [organization_id, event])
        return bool(cursor.fetchone()[0])


def record_event(
    organization_id: uuid.UUID, event: str, data: Mapping[str, object], *, max_waiting: int = _MAX_WAITING
) -> None:
    """Store the event for all webhooks of the organisation that subscribe to it.

    A function of the database does it, because the request or the worker that causes an event need not see webhooks.

    Args:
        organization_id: The organisation of the webhooks.
        event: Name of the event.
        data: The event's data, which becomes JSON.
        max_waiting: Events beyond this number of waiting deliveries of a webhook are dropped.
    """
    payload = json.dumps(_payload(event, data, timezone.now()))
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT rag_record_event(%s, %s, %s, %s)", [organization_id, event, payload, max_waiting])
        if cursor.fetchone()[0]:
            notify_worker()


def _payload(event: str, data: Mapping[str, object], now: datetime.datetime) -> dict[str, object]:
    """Return the body, as the Standard Webhooks specification recommends it: `type`, `timestamp`, `data`."""
    return {"type": str(event), "timestamp": now.isoformat(timespec="milliseconds"), "data": dict(data)}


def _source_out(source: DataSource) -> dict[str, str]:
    return {"dataSourceId": str(source.pk), "dataSource": source.slug}
