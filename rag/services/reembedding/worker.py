"""What a worker does for re-embeddings: build vectors, measure, switch, remove vectors; a slice of time at a call."""

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
from rag.services.evaluation import quality
from ragsite.postgres.locks import session_lock

from . import lifecycle

logger = structlog.get_logger(__name__)

State = Reembedding.State
# Failures of a provider in a row until somebody has to look: with the pauses between them, most of an hour.
_MOST_OUTAGES = 10


class ReembeddingEnded(Exception):
    """The row is no longer open: cancelled."""


def advance_due() -> None:
    """Advance what is due, one batch after another, until the next call is due.

    One process at a time does this for the whole platform, so that documents on their way in never wait for more than
    one worker. Its turn ends with its connection: if it dies, the next call goes on where the last batch was committed.
    """
    with session_lock("reembedding") as is_mine:
        if not is_mine:
            return
        ids = list(due_reembeddings().order_by("pk").values_list("pk", flat=True))
        try:
            for pk in ids:
                _advance(pk, until=time.monotonic() + settings.RAG_SWEEP_INTERVAL_SECONDS / len(ids))
        except (DatabaseError, InterfaceError):
            logger.exception("reembedding_interrupted")
            connection.close()
            return
    if due_reembeddings().exists():
        queue.send("rag.reembed", expires=60)


def due_reembeddings() -> QuerySet[Reembedding]:
    rows = Reembedding.objects.filter(Q(state=State.BUILDING) | Q(clearing__isnull=False), source__deleted_at=None)
    return rows.filter(Q(due_at=None) | Q(due_at__lte=timezone.now()))


def _advance(pk: uuid.UUID, *, until: float) -> None:
    row = Reembedding.objects.select_related("source__embedding_model", "from_model", "to_model", "clearing").get(pk=pk)
    try:
        if row.clearing_id:
            _clear(row, until)
        else:
            _build(row, until)
    except (ReembeddingEnded, UnknownSource, ModelChanged):
        pass
    except (ProviderFailed, IndexUnavailable) as error:
        if getattr(error, "retry", True) and row.outages + 1 < _MOST_OUTAGES:
            _postpone(row, error)
        else:
            _fail(row, error.message, error.code)
    except RagError as error:
        _fail(row, error.message, error.code)
    except TimeoutError:
        _fail(row, "The golden questions took longer than RAG_QUALITY_SECONDS.", "QUALITY_TOO_SLOW")
    except (DatabaseError, InterfaceError):
        raise
    except Exception:
        logger.exception("reembedding_errored", reembedding=str(row.pk))
        _fail(row, "An unexpected error; the log has it under this re-embedding's id.", "INTERNAL_ERROR")


def _build(row: Reembedding, until: float) -> None:
    """At least one batch. A pass goes through the chunks in the order of their keys. A chunk may get a key before one
    that is committed earlier, so that only a pass that finds nothing, from its start, says that nothing is missing."""
    if row.source.embedding_model_id != row.from_model_id:
        _fail(row, "The source's model was changed by other means. Cancel this, and start again.", "MODEL_CHANGED")
        return
    if not (row.total or row.position):
        _count(row)
    while True:
        chunks = reembed.missing(row.source, row.to_model, after=row.position)
        if chunks:
            vectors = reembed.embed(chunks, row.to_model)
            if not _write(row, chunks, vectors):  # all of their documents are being written: in a moment, not at once
                _update(row, due_at=timezone.now() + datetime.timedelta(seconds=1))
                return
        elif row.position:
            _count(row)
        elif row.measured_at is None:
            _measure(row)
        elif _settle(row):
            return
        if time.monotonic() > until:
            return


@transaction.atomic
def _write(row: Reembedding, chunks: list[reembed.StoredChunk], vectors: Vectors) -> int:
    row.source.hold()
    added = reembed.add(row.source, row.to_model, chunks, vectors)
    _update(row, done=F("done") + added, position=chunks[-1].id, outages=0, error="", due_at=None)
    row.position, row.outages = chunks[-1].id, 0
    return added


def _count(row: Reembedding) -> None:
    """For a new pass, and for whoever watches."""
    total, missing = reembed.count(row.source, row.to_model)
    _update(row, total=total, done=total - missing, position=None)
    row.position = None


def _measure(row: Reembedding) -> None:
    """Both models on the source's golden questions, if it has any; on the way back nobody asks for quality."""
    row.measured_at = timezone.now()
    if not row.undoes_id:
        row.new_quality = quality.measure(row.source, row.to_model)
        row.old_quality = quality.measure(row.source)
    _update(row, measured_at=row.measured_at, new_quality=row.new_quality, old_quality=row.old_quality)
    _count(row)


def _settle(row: Reembedding) -> bool:
    """Nothing was missing a moment ago: switch, or wait for somebody's decision. False: something is missing again."""
    if row.switches_itself and not lifecycle.check_quality_gate(row):
        return lifecycle.switch_if_complete(row)
    _update(row, state=State.READY, switches_itself=False)
    logger.info("reembedding_ready", reembedding=str(row.pk), source=str(row.source_id))
    return True


def _clear(row: Reembedding, until: float) -> None:
    model = row.clearing
    assert model is not None
    assert model != row.source.embedding_model, "what is searched is never removed"
    while True:
        with transaction.atomic():
            row.position = reembed.clear(row.source_id, model, after=row.position)
            left = Reembedding.objects.filter(pk=row.pk)
            left.update(position=row.position, clearing=model if row.position else None, due_at=None)
        if row.position is None:
            logger.info("vectors_dropped", source=str(row.source_id), model=model.name)
            return
        if time.monotonic() > until:
            return


def _postpone(row: Reembedding, error: RagError) -> None:
    """10 s, 20 s, 40 s … up to ten minutes, each up to half longer."""
    pause = min(600, 10 * 2**row.outages) * random.uniform(1, 1.5)
    logger.warning("reembedding_postponed", reembedding=str(row.pk), code=error.code, outages=row.outages + 1)
    due_at = timezone.now() + datetime.timedelta(seconds=pause)
    rows = Reembedding.objects.filter(pk=row.pk, state=State.BUILDING)
    rows.update(outages=F("outages") + 1, due_at=due_at, error=error.message)


def _fail(row: Reembedding, message: str, code: str) -> None:
    logger.warning("reembedding_failed", reembedding=str(row.pk), code=code)
    rows = Reembedding.objects.filter(pk=row.pk, state=State.BUILDING)
    rows.update(state=State.FAILED, error=message, due_at=None)


def _update(row: Reembedding, **values: object) -> None:
    """Write to the row if it is still open. Raises Ended."""
    if not Reembedding.objects.filter(pk=row.pk, state=State.BUILDING).update(**values):
        raise ReembeddingEnded
