"""The Celery tasks. Each of them calls one service function."""

import datetime
import gc
import uuid
from collections.abc import Sequence
from typing import Any

import celery.worker.state
from celery import Task, shared_task, signals
from django.db import connection
from django.utils import timezone

from accounts.audit import events
from accounts.sign_in import delete_old_sign_ins
from orgs.invitations import invitation_lifecycle as invitations
from ragsite.observability import tracing

from .providers import load_before_fork
from .services import idempotency
from .services.evaluation import requested_measurements
from .services.ingestion import document_processing
from .services.ingestion.queue import recovery_sweep
from .services.ingestion.sync import background as sync_background
from .services.ingestion.sync import delete_old_runs
from .services.maintenance import usage_counters
from .services.maintenance.indexes import apply_index_changes as index_changes
from .services.maintenance.indexes import bm25_backfill, repair_term_statistics, token_signature_backfill, vector_index
from .services.maintenance.retention import delete_old_history, delete_old_inputs
from .services.operations import workers
from .services.operations.measurements import recording
from .services.reembedding import background as reembedding_background
from .services.reembedding import second_model
from .services.sources import purge
from .services.webhooks import delete_old_deliveries, delivery


# Acknowledged late, so that the message of a killed worker is delivered again. Only tasks of
# the worker processes are acknowledged late: a task in a thread cannot be cancelled when Redis is lost, and
# acknowledging it afterwards through the closed channel would stop the whole worker.
@shared_task(name="rag.ingest_documents", acks_late=True)
def ingest_documents(count: int) -> None:
    """Claim and process up to `count` documents."""
    document_processing.process_next(count=count)


@shared_task(name="rag.sweep_ingestion")
def sweep_ingestion() -> None:
    """Recover lost documents, and close finished jobs."""
    recovery_sweep.sweep()


@shared_task(name="rag.purge_deleted")
def purge_deleted() -> None:
    """Remove the rows and files of everything that was deleted."""
    purge.purge_deleted()


@shared_task(name="rag.reembed")
def reembed() -> None:
    """Work on re-embeddings."""
    reembedding_background.advance_due()


@shared_task(name="rag.embed_other_languages")
def embed_other_languages(source_ids: Sequence[str] = ()) -> None:
    """Add vectors of the second, multilingual model to sources: to these and to all that need them."""
    second_model.embed_other_languages([uuid.UUID(source_id) for source_id in source_ids])


@shared_task(name="rag.maintain_vector_index")
def maintain_vector_index() -> None:
    """Build missing vector indexes."""
    vector_index.maintain()


@shared_task(name="rag.apply_index_changes")
def apply_index_changes() -> None:
    """Copy changes to a search index outside of the database."""
    index_changes.apply_changes()


@shared_task(name="rag.maintain_bm25_index")
def maintain_bm25_index() -> None:
    """Add terms to chunks without terms."""
    bm25_backfill.maintain()


@shared_task(name="rag.backfill_token_signatures")
def backfill_token_signatures() -> None:
    """Add token signatures to chunks without signatures."""
    token_signature_backfill.backfill_signatures()


@shared_task(name="rag.check_term_statistics")
def check_term_statistics() -> None:
    """Compare term statistics with the chunks."""
    repair_term_statistics.check_in_turn()


@shared_task(name="rag.check_usage")
def check_usage() -> None:
    """Log an error for each organisation whose usage counters differ from its documents."""
    usage_counters.find_differences()


@shared_task(name="rag.delete_expired_inputs")
def delete_expired_inputs() -> None:
    """Delete the inputs of documents that ended long ago."""
    delete_old_inputs.delete_expired_inputs()


@shared_task(name="rag.delete_expired_history")
def delete_expired_history() -> None:
    """Delete searches and conversations after their retention period."""
    delete_old_history.delete_expired_history()


@shared_task(name="rag.deliver_webhooks")
def deliver_webhooks() -> None:
    """Send what is due to webhooks."""
    delivery.deliver_due()


@shared_task(name="rag.sync_sources")
def sync_sources() -> None:
    """Start due syncs and continue running ones."""
    sync_background.advance_due()


@shared_task(name="rag.delete_expired_syncs")
def delete_expired_syncs() -> None:
    """Delete what old syncs have counted."""
    delete_old_runs.delete_expired_runs()


@shared_task(name="rag.delete_expired_deliveries")
def delete_expired_deliveries() -> None:
    """Delete old deliveries of webhooks."""
    delete_old_deliveries.delete_expired_deliveries()


@shared_task(name="rag.delete_expired_requests")
def delete_expired_requests() -> None:
    """Delete old requests with an Idempotency-Key."""
    idempotency.delete_expired_requests()


@shared_task(name="rag.delete_expired_sign_ins")
def delete_expired_credentials() -> None:
    """Delete expired sessions and refresh tokens, old failed sign-ins, and ended invitations."""
    delete_old_sign_ins.delete_expired_sign_ins()
    invitations.delete_ended()


@shared_task(name="rag.delete_expired_audit_events")
def delete_expired_audit_events() -> None:
    """Delete audit events after their retention period."""
    events.delete_expired()


@shared_task(name="rag.delete_expired_measurements")
def delete_expired_measurements() -> None:
    """Delete old measurements and errors."""
    recording.delete_expired()


@shared_task(name="rag.measure_all_quality")
def measure_all_quality() -> None:
    """Request a measurement of each source with golden questions."""
    requested_measurements.request_all()


@shared_task(name="rag.measure_quality")
def measure_quality(*_: object) -> None:
    """Measure the quality of the sources for which that was requested. Messages of earlier versions name one source."""
    requested_measurements.measure_requested()


_reporters: list[workers.Reporter] = []
_started_at: dict[str, datetime.datetime] = {}
_spans: dict[str, tracing.StartedTask | None] = {}


@signals.worker_before_create_process.connect
def import_before_first_fork(**_: object) -> None:
    """Import what the processes of this worker use, before the first one is forked from it. Threads need nothing."""
    signals.worker_before_create_process.disconnect(import_before_first_fork)
    load_before_fork.import_for_ingestion()
    connection.close()
    gc.collect()
    gc.freeze()  # the processes share what is loaded: collecting garbage would write to it, and so copy it


@signals.worker_ready.connect
def start_heartbeat(sender: Any, **_: object) -> None:
    """Report that this worker runs."""
    reporter = workers.Reporter(
        name=sender.hostname,
        queues=list(sender.app.amqp.queues.consume_from),
        slots=sender.controller.concurrency,
        list_running=lambda: [
            (request.name, request.time_start or 0.0) for request in list(celery.worker.state.active_requests)
        ],
    )
    reporter.start()
    _reporters.append(reporter)


@signals.worker_shutting_down.connect
def stop_documents(**_: object) -> None:
    """Let this worker's processes give back the documents that they have not finished."""
    workers.request_stop()


@signals.worker_shutdown.connect
def stop_heartbeat(**_: object) -> None:
    """Report that this worker stops."""
    while _reporters:
        _reporters.pop().stop()


@signals.task_prerun.connect
def start_run(task_id: str, task: Task[..., object], **_: object) -> None:
    """Store when a task started, and start its span in the trace of the code that sent it."""
    _started_at[task_id] = timezone.now()
    # A worker turns the headers of a message into attributes of the request.
    parent = task.request.get("traceparent") or (task.request.headers or {}).get("traceparent", "")
    _spans[task_id] = tracing.start_task(task.name, traceparent=parent)


@signals.task_postrun.connect
def finish_task(task_id: str, task: Task[..., object], retval: object = None, **_: object) -> None:
    """Store that a scheduled task has run, and what this process has measured."""
    failure = retval if isinstance(retval, BaseException) else None
    tracing.end_task(_spans.pop(task_id, None), failure)
    error = type(failure).__name__ if failure else ""
    started_at = _started_at.pop(task_id, None) or timezone.now()
    recording.store_after_task(task.name, started_at=started_at, error=error)
