"""What workers do: an id → one service call."""

import uuid

from celery import shared_task

from rag.services import deletion, ingestion, recovery, retries


@shared_task(name="rag.ingest_documents")
def ingest_documents(ids: list[str]) -> None:
    ingestion.run(ids=[uuid.UUID(each) for each in ids])


@shared_task(name="rag.sweep_ingestion")
def sweep_ingestion() -> None:
    recovery.sweep()


@shared_task(name="rag.purge_deleted")
def purge_deleted() -> None:
    deletion.purge()


@shared_task(name="rag.forget_inputs")
def forget_inputs() -> None:
    retries.forget_inputs()
