"""Chunks without the bits of their pieces get them: those that were ingested before there were any, or for another
model."""

import time
import uuid

import structlog
from django.conf import settings
from django.core.cache import cache
from django.db import DatabaseError, InterfaceError, connection

from rag.errors import EmbeddingFailed
from rag.models import DataSource
from rag.pipeline.ingestion import backfill
from rag.providers import registry
from ragsite.postgres.locks import session_lock

logger = structlog.get_logger(__name__)

_AT_ONCE = 32
# Where a pass is, and that none is needed yet. Forgotten, they cost one look at every chunk's key.
_PLACE, _RESTING = "piece-bits/place", "piece-bits/resting"
_REMEMBERED, _REST = 86_400, 600
_FIRST = str(uuid.UUID(int=0))


def supply() -> None:
    """Go on through the chunks for as long as it takes until beat calls again.

    A pass goes through all sources, and in each through the keys of its chunks; ten minutes after its end the next one
    begins. Nothing says what is missing but the rows, so that nothing can say it wrongly. One process at a time does
    this, and at most the batch that was under way when it died is computed twice.
    """
    with session_lock("piece_bits") as is_mine:
        if not is_mine or cache.get(_RESTING):
            return
        try:
            _go_on(until=time.monotonic() + settings.RAG_SWEEP_INTERVAL_SECONDS)
        except (DatabaseError, InterfaceError):
            logger.exception("piece_bits_interrupted")
            connection.close()
        except EmbeddingFailed as error:
            logger.warning("piece_bits_interrupted", reason=error.message)
            cache.set(_RESTING, True, _REST)


def _go_on(*, until: float) -> None:
    at, after = map(uuid.UUID, cache.get(_PLACE) or (_FIRST, _FIRST))
    sources = DataSource.objects.filter(deleted_at=None).select_related("embedding_model").order_by("pk")
    for source in sources.filter(pk__gte=at):
        if registry.token_embedder(source.embedding_model) is None:
            continue
        if not _complete(source, until, after=after if source.pk == at else uuid.UUID(_FIRST)):
            return
    cache.delete(_PLACE)
    cache.set(_RESTING, True, _REST)


def _complete(source: DataSource, until: float, *, after: uuid.UUID) -> bool:
    """False if the time was over first."""
    while True:
        keys, last = backfill.missing(source, after=after)
        if last is None:
            return True
        batch = keys[:_AT_ONCE]
        if batch:
            backfill.supply(source, batch)
        after = batch[-1] if len(batch) < len(keys) else last
        if time.monotonic() > until:
            cache.set(_PLACE, [str(source.pk), str(after)], _REMEMBERED)
            return False
