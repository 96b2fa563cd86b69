"""The background work of re-embeddings: building vectors, measuring, switching and removing vectors."""

import datetime
import time
import uuid

import structlog
from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection, transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from rag import task_queue
from rag.errors import IndexUnavailable, ModelChanged, ProviderFailed, RagError, UnknownSource
from rag.models import Reembedding
from rag.pipeline.ingestion import reembed
from rag.providers.base import Vectors
from rag.providers.http import backoff
from rag.providers.stores.store_writes import StoredChunk
from rag.services.evaluation import quality
from ragsite.postgres.locks import session_lock

from . import lifecycle

logger = structlog.get_logger(__name__)

State = Reembedding.State
# The re-embedding fails after this many failures of a provider in succession, with pauses of almost an hour together.
_MAX_OUTAGES = 10


class ReembeddingEnded(Exception):
    """The re-embedding was cancelled while this process worked on it."""


def advance_due() -> None:
    """Work on all re-embeddings that are due, in batches, until beat makes the next call (RAG_SWEEP_INTERVAL_SECONDS).

    One process at a time does this for the whole platform, so that ingestion loses at most one worker to it. The lock
    ends with the database connection: if the process dies, the next call continues after the last committed batch.
    """
    with session_lock("reembedding") as is_acquired:
        if not is_acquired:
            return
        ids = list(due_reembeddings().order_by("pk").values_list("pk", flat=True))
        try:
            for pk in ids:
                _advance(pk, deadline=time.monotonic() + settings.RAG_SWEEP_INTERVAL_SECONDS / len(ids))
        except (DatabaseError, InterfaceError):
            logger.exception("reembedding_interrupted")
            connection.close()
            return
    if due_reembeddings().exists():
        task_queue.send("rag.reembed", expires=60)


def due_reembeddings() -> QuerySet[Reembedding]:
    """Return the re-embeddings that have work to do now."""
    open_reembeddings = Reembedding.objects.filter(
        Q(state=State.BUILDING) | Q(model_to_remove__isnull=False), source__deleted_at=None
    )
    return open_reembeddings.filter(Q(due_at=None) | Q(due_at__lte=timezone.now()))


def _advance(pk: uuid.UUID, *, deadline: float) -> None:
    """Work on one re-embedding until the deadline, and store an error as its state or as a pause."""
    reembedding = Reembedding.objects.select_related(
        "source__embedding_model", "from_model", "to_model", "model_to_remove"
    ).get(pk=pk)
    try:
        if reembedding.model_to_remove_id:
            _delete_old_vectors(reembedding, deadline)
        else:
            _build(reembedding, deadline)
    except (ReembeddingEnded, UnknownSource, ModelChanged):
        pass
    except (ProviderFailed, IndexUnavailable) as error:
        if getattr(error, "is_retryable", True) and reembedding.outages + 1 < _MAX_OUTAGES:
            _postpone(reembedding, error)
        else:
            _fail(reembedding, error.message, error.code)
    except RagError as error:
        _fail(reembedding, error.message, error.code)
    except TimeoutError:
        _fail(reembedding, "Measuring with the golden questions took too long.", "QUALITY_TOO_SLOW")
    except (DatabaseError, InterfaceError):
        raise
    except Exception:
        logger.exception("reembedding_crashed", reembedding=str(reembedding.pk))
        _fail(
            reembedding,
            "An unexpected error. The worker's log has the details under this re-embedding's id.",
            "INTERNAL_ERROR",
        )


def _build(reembedding: Reembedding, deadline: float) -> None:
    """Embed at least one batch of chunks, then measure and switch if no vector is missing.

    A pass goes through the chunks in the order of their keys. A chunk with a smaller key may be committed later than
    one with a larger key. So only a whole pass that finds nothing shows that no vector is missing.
    """
    if reembedding.source.embedding_model_id != reembedding.from_model_id:
        _fail(
            reembedding,
            "The embedding model of the source was changed elsewhere. Cancel this re-embedding and start a new one.",
            "MODEL_CHANGED",
        )
        return
    if not (reembedding.total or reembedding.position):
        _count(reembedding)
    while True:
        chunks = reembed.next_chunks(reembedding.source, reembedding.to_model, after=reembedding.position)
        if chunks:
            vectors = reembed.embed(chunks, reembedding.to_model)
            if not write_vectors(reembedding, chunks, vectors):
                # Writers have locked all documents of these chunks: try again soon.
                _update_if_building(reembedding, due_at=timezone.now() + datetime.timedelta(seconds=1))
                return
        elif reembedding.position:
            _count(reembedding)
        elif reembedding.measured_at is None:
            _measure(reembedding)
        elif _switch_or_wait(reembedding):
            return
        if time.monotonic() > deadline:
            return


@transaction.atomic
def write_vectors(reembedding: Reembedding, chunks: list[StoredChunk], vectors: Vectors) -> int:
    """Write the vectors of a batch, and the progress, in one transaction.

    Args:
        reembedding: The re-embedding.
        chunks: The batch, in the order of the keys.
        vectors: A vector of the new model for each chunk.

    Returns:
        The number of chunks that got a vector. Chunks whose documents are locked by writers are left to a later pass.

    Raises:
        ReembeddingEnded: If the re-embedding was cancelled in the meantime.
        UnknownSource: If the source was deleted in the meantime.
        ModelChanged: If the source's model is not the expected one.
    """
    reembedding.source.lock_for_write()
    added = reembed.add_vectors(reembedding.to_model, chunks, vectors)
    _update_if_building(reembedding, done=F("done") + added, position=chunks[-1].id, outages=0, error="", due_at=None)
    reembedding.position, reembedding.outages = chunks[-1].id, 0
    return added


def _count(reembedding: Reembedding) -> None:
    """Count the chunks and missing vectors, for the progress display, and start a new pass."""
    total, missing = reembed.count_chunks(reembedding.source, reembedding.to_model)
    _update_if_building(reembedding, total=total, done=total - missing, position=None)
    reembedding.position = None


def _measure(reembedding: Reembedding) -> None:
    """Measure both models on the source's golden questions, if it has any. A rollback needs no measurement."""
    reembedding.measured_at = timezone.now()
    if not reembedding.undoes_id:
        reembedding.new_quality = quality.measure(reembedding.source, reembedding.to_model)
        reembedding.old_quality = quality.measure(reembedding.source)
    _update_if_building(
        reembedding,
        measured_at=reembedding.measured_at,
        new_quality=reembedding.new_quality,
        old_quality=reembedding.old_quality,
    )
    _count(reembedding)


def _switch_or_wait(reembedding: Reembedding) -> bool:
    """Switch, or wait for a decision, after a pass in which no vector was missing.

    Returns:
        False if vectors are missing again because chunks were added.
    """
    if reembedding.switches_automatically and not lifecycle.quality_gate_failure(reembedding):
        return lifecycle.switch_if_complete(reembedding)
    _update_if_building(reembedding, state=State.READY, switches_automatically=False)
    logger.info("reembedding_ready", reembedding=str(reembedding.pk), source=str(reembedding.source_id))
    return True


def _delete_old_vectors(reembedding: Reembedding, deadline: float) -> None:
    """Delete the vectors of `model_to_remove` in batches, until the deadline."""
    model = reembedding.model_to_remove
    assert model is not None
    assert model != reembedding.source.embedding_model, "the vectors that are searched are never removed"
    while True:
        with transaction.atomic():
            if model.pk == reembedding.source.second_model_id:  # they are searched for questions in other languages
                reembedding.position = None
            else:
                reembedding.position = reembed.delete_vectors(reembedding.source_id, model, after=reembedding.position)
            current = Reembedding.objects.filter(pk=reembedding.pk)
            current.update(
                position=reembedding.position, model_to_remove=model if reembedding.position else None, due_at=None
            )
        if reembedding.position is None:
            logger.info("reembedding_vectors_removed", source=str(reembedding.source_id), model=model.name)
            return
        if time.monotonic() > deadline:
            return


def _postpone(reembedding: Reembedding, error: RagError) -> None:
    """Schedule the next attempt after a pause that doubles up to ten minutes."""
    pause_seconds = backoff.REEMBEDDING.pause_seconds(reembedding.outages + 1)
    logger.warning(
        "reembedding_postponed", reembedding=str(reembedding.pk), code=error.code, outages=reembedding.outages + 1
    )
    due_at = timezone.now() + datetime.timedelta(seconds=pause_seconds)
    building = Reembedding.objects.filter(pk=reembedding.pk, state=State.BUILDING)
    building.update(outages=F("outages") + 1, due_at=due_at, error=error.message)


def _fail(reembedding: Reembedding, message: str, code: str) -> None:
    logger.warning("reembedding_failed", reembedding=str(reembedding.pk), code=code)
    building = Reembedding.objects.filter(pk=reembedding.pk, state=State.BUILDING)
    building.update(state=State.FAILED, error=message, due_at=None)


def _update_if_building(reembedding: Reembedding, **values: object) -> None:
    """Write these fields, if the re-embedding is still being built.

    Raises:
        ReembeddingEnded: If it was cancelled or has failed in the meantime.
    """
    if not Reembedding.objects.filter(pk=reembedding.pk, state=State.BUILDING).update(**values):
        raise ReembeddingEnded
