"""The Celery tasks. Each of them calls one service function."""

import uuid
from collections.abc import Sequence

from celery import shared_task

from accounts.audit import events
from accounts.sign_in import retention as sign_ins

from .services.evaluation import quality
from .services.ingestion import processing, sweep
from .services.maintenance import (
    bm25_index,
    history_retention,
    input_retention,
    term_statistics,
    token_signatures,
    usage,
    vector_index,
)
from .services.reembedding import second_model, worker
from .services.sources import deletion


# Acknowledged late, so that the message of a killed worker is delivered again. Only tasks of
# the worker processes are acknowledged late: a task in a thread cannot be cancelled when Redis is lost, and
# acknowledging it afterwards through the closed channel would stop the whole worker.
@shared_task(name="rag.ingest_documents", acks_late=True)
def ingest_documents(count: int) -> None:
    """Claim and process up to `count` documents."""
    processing.process_next(count=count)


@shared_task(name="rag.sweep_ingestion")
def sweep_ingestion() -> None:
    """Recover lost documents, and close finished jobs."""
    sweep.sweep()


@shared_task(name="rag.purge_deleted")
def purge_deleted() -> None:
    """Remove the rows and files of everything that was deleted."""
    deletion.purge_deleted()


@shared_task(name="rag.reembed")
def reembed() -> None:
    """Work on re-embeddings."""
    worker.advance_due()


@shared_task(name="rag.embed_other_languages")
def embed_other_languages(source_ids: Sequence[str] = ()) -> None:
    """Embed sources with the multilingual model, these as well from now on."""
    second_model.embed_due([uuid.UUID(source_id) for source_id in source_ids])


@shared_task(name="rag.maintain_vector_index")
def maintain_vector_index() -> None:
    """Build missing vector indexes."""
    vector_index.maintain()


@shared_task(name="rag.maintain_bm25_index")
def maintain_bm25_index() -> None:
    """Add terms to chunks without terms."""
    bm25_index.maintain()


@shared_task(name="rag.backfill_token_signatures")
def backfill_token_signatures() -> None:
    """Add token signatures to chunks without signatures."""
    token_signatures.backfill_signatures()


@shared_task(name="rag.check_term_statistics")
def check_term_statistics() -> None:
    """Compare term statistics with the chunks."""
    term_statistics.check_in_turn()


@shared_task(name="rag.check_usage")
def check_usage() -> None:
    """Compare the counters of the quotas with the documents."""
    usage.find_differences()


@shared_task(name="rag.delete_expired_inputs")
def delete_expired_inputs() -> None:
    """Delete the inputs of documents that ended long ago."""
    input_retention.delete_expired_inputs()


@shared_task(name="rag.delete_expired_history")
def delete_expired_history() -> None:
    """Delete searches and conversations after their retention period."""
    history_retention.delete_expired_history()


@shared_task(name="rag.delete_expired_sign_ins")
def delete_expired_sign_ins() -> None:
    """Delete expired sessions and refresh tokens, and old failed sign-ins."""
    sign_ins.delete_expired_sign_ins()


@shared_task(name="rag.delete_expired_audit_events")
def delete_expired_audit_events() -> None:
    """Delete audit events after their retention period."""
    events.delete_expired()


@shared_task(name="rag.measure_all_quality")
def measure_all_quality() -> None:
    """Send a message for each source with golden questions."""
    quality.enqueue_nightly_runs()


@shared_task(name="rag.measure_quality")
def measure_quality(source_id: str, force: bool = False) -> None:
    """Measure the quality of a source."""
    quality.measure_if_due(uuid.UUID(source_id), force=force)
