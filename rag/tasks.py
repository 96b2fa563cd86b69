"""What workers do: one service call each."""

import uuid

from celery import shared_task

from accounts import audit
from rag.services import (
    deletion,
    forgetting,
    ingestion,
    piece_bits,
    quality,
    recovery,
    reembedder,
    retries,
    usage,
    vector_index,
    word_counts,
    word_index,
)


# Acknowledged late, so that a killed worker's message comes back. For processes alone: a thread cannot be cancelled
# when Redis goes away, and a task that then acknowledged to the closed channel would end the whole worker.
@shared_task(name="rag.ingest_documents", acks_late=True)
def ingest_documents(count: int) -> None:
    ingestion.run(count=count)


@shared_task(name="rag.sweep_ingestion")
def sweep_ingestion() -> None:
    recovery.sweep()


@shared_task(name="rag.tend_vector_index")
def tend_vector_index() -> None:
    vector_index.tend()


@shared_task(name="rag.tend_words")
def tend_words() -> None:
    word_index.tend()


@shared_task(name="rag.purge_deleted")
def purge_deleted() -> None:
    deletion.purge()


@shared_task(name="rag.check_usage")
def check_usage() -> None:
    usage.check()


@shared_task(name="rag.check_words")
def check_words() -> None:
    word_counts.check_some()


@shared_task(name="rag.forget_inputs")
def forget_inputs() -> None:
    retries.forget_inputs()


@shared_task(name="rag.forget_history")
def forget_history() -> None:
    forgetting.forget()


@shared_task(name="rag.forget_audit_events")
def forget_audit_events() -> None:
    audit.forget()


@shared_task(name="rag.reembed")
def reembed() -> None:
    reembedder.work()


@shared_task(name="rag.supply_piece_bits")
def supply_piece_bits() -> None:
    piece_bits.supply()


@shared_task(name="rag.measure_all_quality")
def measure_all_quality() -> None:
    quality.start_night()


@shared_task(name="rag.measure_quality")
def measure_quality(source_id: str, again: bool = False) -> None:
    quality.measure_in_turn(uuid.UUID(source_id), again=again)
