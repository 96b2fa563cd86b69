"""Outages of embedding models: a circuit breaker that all workers share.

The state is one row per model (rag.models.ModelOutage), so that a model that is down gets one request per pause, and
not one for each waiting document. After the pause one document, the probe, is tried first.
"""

import datetime
import uuid

import structlog
from django.db import transaction

from rag import task_queue
from rag.models import IngestionDocument, ModelOutage
from rag.providers.http import backoff
from ragsite.postgres.models import database_now

logger = structlog.get_logger(__name__)

# A document fails after this many failed calls of its model: about an hour of pauses.
MAX_OUTAGES = 16


def pause_after(failures: int, *, retry_after_seconds: float | None = None) -> datetime.timedelta:
    """Return the pause after a number of failures in a row.

    It doubles from 10 s to 4 minutes, with jitter, and is not shorter than the provider asked for.

    Args:
        failures: The number of failures, from 1.
        retry_after_seconds: The seconds of the provider's Retry-After header; more than an hour counts as an hour.
    """
    return datetime.timedelta(
        seconds=max(backoff.DOCUMENTS.pause_seconds(failures), _limited_retry_after(retry_after_seconds))
    )


def max_outage_duration() -> datetime.timedelta:
    """Return for how long documents wait for a model: the mean pauses between MAX_OUTAGES failures, summed up."""
    return datetime.timedelta(seconds=sum(map(backoff.DOCUMENTS.mean_seconds, range(1, MAX_OUTAGES))))


def _limited_retry_after(retry_after_seconds: float | None) -> float:
    return min(retry_after_seconds or 0.0, backoff.MAX_RETRY_AFTER_SECONDS)


@transaction.atomic
def record_outage(model_id: uuid.UUID, *, document_id: uuid.UUID, retry_after_seconds: float | None) -> None:
    """Record that the model failed for this document, and extend the pause.

    A failure counts if it is the first, comes after the pause, or is that of the probe. Others, of documents that were
    in progress at the same time, only extend the pause to what the provider asked for.

    Args:
        model_id: The embedding model.
        document_id: The document that was being embedded (IngestionDocument).
        retry_after_seconds: The seconds of the provider's Retry-After header; None without it. More than an hour counts
            as one.
    """
    now = database_now()
    defaults = {"since": now, "until": now + pause_after(1, retry_after_seconds=retry_after_seconds)}
    outage, is_new = ModelOutage.objects.select_for_update().get_or_create(model_id=model_id, defaults=defaults)
    if is_new:
        logger.warning("embedding_outage_started", model=str(model_id))
        return
    if outage.until <= now or outage.probe == document_id:
        outage.tries += 1
        outage.until = now + pause_after(outage.tries, retry_after_seconds=retry_after_seconds)
        outage.probe = None
    else:
        outage.until = max(outage.until, now + datetime.timedelta(seconds=_limited_retry_after(retry_after_seconds)))
    outage.save(update_fields=["tries", "until", "probe"])


def clear_outage(model_id: uuid.UUID) -> None:
    """End the model's outage, if it has one, because the model has answered."""
    if ModelOutage.objects.filter(model_id=model_id).delete()[0]:
        logger.info("embedding_outage_ended", model=str(model_id))


def release_probe(*document_ids: uuid.UUID) -> None:
    """Let another document probe the model, if one of these was the probe. They ended without calling the model."""
    ModelOutage.objects.filter(probe__in=document_ids).update(until=database_now(), probe=None)


def delete_stale_outages(now: datetime.datetime) -> None:
    """Delete outages whose pause ended long ago without another try. Whether the model answers now is unknown."""
    ModelOutage.objects.filter(until__lt=now - max_outage_duration()).delete()


def retry_waiting_documents() -> int:
    """End the pauses of all documents and models, so that the sweep gives the documents to workers immediately.

    Returns:
        The number of documents that waited.
    """
    now = database_now()
    waiting = IngestionDocument.objects.filter(state=IngestionDocument.State.QUEUED)
    with transaction.atomic():
        paused_models = ModelOutage.objects.filter(until__gt=now)
        held_back = waiting.filter(due_at=None, source__embedding_model__in=paused_models.values("model")).count()
        paused_models.update(until=now, probe=None)
        postponed = waiting.filter(due_at__gt=now).update(due_at=now)
        task_queue.send("rag.sweep_ingestion")
    return held_back + postponed
