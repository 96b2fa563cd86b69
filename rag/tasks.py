"""What workers do: one service call each."""

import uuid

from celery import shared_task

from accounts.audit import events

from .services.evaluation import quality
from .services.ingestion import processing, sweep
from .services.jobs import retries
from .services.maintenance import (
    bm25_index,
    history_retention,
    term_statistics,
    token_signatures,
    usage,
    vector_index,
)
from .services.reembedding import worker
from .services.sources import deletion


# Acknowledged late, so that a killed worker's message comes back. For processes alone: a thread cannot be cancelled
# when Redis goes away, and a task that then acknowledged to the closed channel would end the whole worker.
@shared_task(name="rag.ingest_documents", acks_late=True)
def ingest_documents(count: int) -> None:
    processing.process_next(count=count)


@shared_task(name="rag.sweep_ingestion")
def sweep_ingestion() -> None:
    sweep.sweep()


@shared_task(name="rag.tend_vector_index")
def tend_vector_index() -> None:
    vector_index.tend()


@shared_task(name="rag.tend_words")
def tend_words() -> None:
    bm25_index.tend()


@shared_task(name="rag.purge_deleted")
def purge_deleted() -> None:
    deletion.purge_deleted()


@shared_task(name="rag.check_usage")
def check_usage() -> None:
    usage.find_differences()


@shared_task(name="rag.check_words")
def check_words() -> None:
    term_statistics.check_some()


@shared_task(name="rag.forget_inputs")
def forget_inputs() -> None:
    retries.delete_expired_inputs()


@shared_task(name="rag.forget_history")
def forget_history() -> None:
    history_retention.delete_expired_history()


@shared_task(name="rag.forget_audit_events")
def forget_audit_events() -> None:
    events.forget()


@shared_task(name="rag.reembed")
def reembed() -> None:
    worker.advance_due()


@shared_task(name="rag.supply_piece_bits")
def supply_piece_bits() -> None:
    token_signatures.supply()


@shared_task(name="rag.measure_all_quality")
def measure_all_quality() -> None:
    quality.enqueue_nightly_runs()


@shared_task(name="rag.measure_quality")
def measure_quality(source_id: str, again: bool = False) -> None:
    quality.measure_if_due(uuid.UUID(source_id), again=again)
