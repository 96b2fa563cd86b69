"""What workers do: an id → one service call."""

import uuid

from celery import shared_task

from rag.services import deletion, ingestion, quality, recovery, reembedder


@shared_task(name="rag.ingest_documents")
def ingest_documents(ids: list[str]) -> None:
    ingestion.run(ids=[uuid.UUID(each) for each in ids])


@shared_task(name="rag.sweep_ingestion")
def sweep_ingestion() -> None:
    recovery.sweep()


@shared_task(name="rag.purge_deleted")
def purge_deleted() -> None:
    deletion.purge()


@shared_task(name="rag.reembed")
def reembed() -> None:
    reembedder.work()


@shared_task(name="rag.measure_all_quality")
def measure_all_quality() -> None:
    quality.start_night()


@shared_task(name="rag.measure_quality")
def measure_quality(source_id: str, again: bool = False) -> None:
    quality.measure_in_turn(uuid.UUID(source_id), again=again)
