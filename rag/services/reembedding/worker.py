"""The background work of re-embeddings: building vectors, measuring, switching and removing vectors."""

import datetime
import random
import time
import uuid

import structlog
from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection, transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from rag import queue
from rag.errors import IndexUnavailable, ModelChanged, ProviderFailed, RagError, UnknownSource
from rag.models import Reembedding
from rag.pipeline.ingestion import reembed
from rag.providers.base import Vectors
from rag.providers.stores.base import StoredChunk
from rag.services.evaluation import quality
from ragsite.postgres.locks import session_lock

from . import lifecycle

logger = structlog.get_logger(__name__)

State = Reembedding.State
# Failures of a provider in a row after which the re-embedding fails. With the pauses in between: almost an hour.
_MAX_OUTAGES = 10


class ReembeddingEnded(Exception):
    """The re-embedding was cancelled while this process worked on it."""


def advance_due() -> None:
    """Work on all re-embeddings that are due, in batches, until beat makes the next call (RAG_SWEEP_INTERVAL_SECONDS).

    One process at a time does this for the whole platform, so that ingestion loses at most one worker to it. The lock
    ends with the database connection: if the process dies, the next call continues after the last committed batch.
    """
    with session_lock("reembedding") as has_lock:
        if not has_lock:
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
        queue.send("rag.reembed", expires=60)


def due_reembeddings() -> QuerySet[Reembedding]:
    """Return the re-embeddings that have work to do now."""
    rows = Reembedding.objects.filter(Q(state=State.BUILDING) | Q(clearing__isnull=False), source__deleted_at=None)
    return rows.filter(Q(due_at=None) | Q(due_at__lte=timezone.now()))


def _advance(pk: uuid.UUID, *, deadline: float) -> None:
    row = Reembedding.objects.select_related("source__embedding_model", "from_model", "to_model", "clearing").get(pk=pk)
    try:
        if row.clearing_id:
            _clear(row, deadline)
        else:
            _build(row, deadline)
    except (ReembeddingEnded, UnknownSource, ModelChanged):
        pass
    except (ProviderFailed, IndexUnavailable) as error:
        if getattr(error, "is_retryable", True) and row.outages + 1 < _MAX_OUTAGES:
            _postpone(row, error)
        else:
            _fail(row, error.message, error.code)
    except RagError as error:
        _fail(row, error.message, error.code)
    except TimeoutError:
        _fail(row, "Measuring with the golden questions took too long.", "QUALITY_TOO_SLOW")
    except (DatabaseError, InterfaceError):
        raise
    except Exception:
        logger.exception("reembedding_crashed", reembedding=str(row.pk))
        _fail(
            row, "An unexpected error. The worker's log has the details under this re-embedding's id.", "INTERNAL_ERROR"
        )


def _build(row: Reembedding, deadline: float) -> None:
    """Embed at least one batch of chunks, then measure and switch if nothing is missing.

    A pass goes through the chunks in the order of their keys. A chunk with a smaller key may be committed later than
    one with a larger key. So only a whole pass that finds nothing shows that no vector is missing.
    """
    if row.source.embedding_model_id != row.from_model_id:
        _fail(
            row,
            "The embedding model of the source was changed elsewhere. Cancel this re-embedding and start a new one.",
            "MODEL_CHANGED",
        )
        return
    if not (row.total or row.position):
        _count(row)
    while True:
        chunks = reembed.next_chunks(row.source, row.to_model, after=row.position)
        if chunks:
            vectors = reembed.embed(chunks, row.to_model)
            if not write_vectors(row, chunks, vectors):  # all of their documents are locked by writers: try again soon
                _update(row, due_at=timezone.now() + datetime.timedelta(seconds=1))
                return
        elif row.position:
            _count(row)
        elif row.measured_at is None:
            _measure(row)
        elif _settle(row):
            return
        if time.monotonic() > deadline:
            return


@transaction.atomic
def write_vectors(row: Reembedding, chunks: list[StoredChunk], vectors: Vectors) -> int:
    """Write the vectors of a batch, and the progress, in one transaction.

    Args:
        row: The re-embedding.
        chunks: The batch, in the order of the keys.
        vectors: A vector of the new model for each chunk.

    Returns:
        How many chunks got a vector. Chunks whose documents are locked by writers are skipped; a later pass has them.

    Raises:
        ReembeddingEnded: If the re-embedding was cancelled in the meantime.
        UnknownSource: If the source was deleted in the meantime.
        ModelChanged: If the source has another model than expected.
    """
    row.source.lock_for_write()
    added = reembed.add_vectors(row.to_model, chunks, vectors)
    _update(row, done=F("done") + added, position=chunks[-1].id, outages=0, error="", due_at=None)
    row.position, row.outages = chunks[-1].id, 0
    return added


def _count(row: Reembedding) -> None:
    """Count the chunks and missing vectors, for the progress display, and start a new pass."""
    total, missing = reembed.count_chunks(row.source, row.to_model)
    _update(row, total=total, done=total - missing, position=None)
    row.position = None


def _measure(row: Reembedding) -> None:
    """Measure both models on the source's golden questions, if it has any. A rollback needs no measurement."""
    row.measured_at = timezone.now()
    if not row.undoes_id:
        row.new_quality = quality.measure(row.source, row.to_model)
        row.old_quality = quality.measure(row.source)
    _update(row, measured_at=row.measured_at, new_quality=row.new_quality, old_quality=row.old_quality)
    _count(row)


def _settle(row: Reembedding) -> bool:
    """Switch, or wait for a decision, after a pass in which nothing was missing.

    Returns False if vectors are missing again because chunks were added.
    """
    if row.switches_automatically and not lifecycle.check_quality_gate(row):
        return lifecycle.switch_if_complete(row)
    _update(row, state=State.READY, switches_automatically=False)
    logger.info("reembedding_ready", reembedding=str(row.pk), source=str(row.source_id))
    return True


def _clear(row: Reembedding, deadline: float) -> None:
    model = row.clearing
    assert model is not None
    assert model != row.source.embedding_model, "the vectors that are searched are never removed"
    while True:
        with transaction.atomic():
            row.position = reembed.delete_vectors(row.source_id, model, after=row.position)
            current = Reembedding.objects.filter(pk=row.pk)
            current.update(position=row.position, clearing=model if row.position else None, due_at=None)
        if row.position is None:
            logger.info("reembedding_vectors_removed", source=str(row.source_id), model=model.name)
            return
        if time.monotonic() > deadline:
            return


def _postpone(row: Reembedding, error: RagError) -> None:
    """Try again after a pause: 10 s, 20 s, 40 s, … up to ten minutes, with up to 50 % jitter."""
    pause_seconds = min(600, 10 * 2**row.outages) * random.uniform(1, 1.5)
    logger.warning("reembedding_postponed", reembedding=str(row.pk), code=error.code, outages=row.outages + 1)
    due_at = timezone.now() + datetime.timedelta(seconds=pause_seconds)
    rows = Reembedding.objects.filter(pk=row.pk, state=State.BUILDING)
    rows.update(outages=F("outages") + 1, due_at=due_at, error=error.message)


def _fail(row: Reembedding, message: str, code: str) -> None:
    logger.warning("reembedding_failed", reembedding=str(row.pk), code=code)
    rows = Reembedding.objects.filter(pk=row.pk, state=State.BUILDING)
    rows.update(state=State.FAILED, error=message, due_at=None)


def _update(row: Reembedding, **values: object) -> None:
    """Write these fields to the row if it is still open, else raise ReembeddingEnded."""
    if not Reembedding.objects.filter(pk=row.pk, state=State.BUILDING).update(**values):
        raise ReembeddingEnded
