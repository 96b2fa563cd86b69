"""Adds token signatures to chunks without them, which an older version or another setting has ingested."""

import time
import uuid

import structlog
from django.conf import settings
from django.core.cache import cache
from django.db import DatabaseError, InterfaceError, connection

from rag.errors import EmbeddingFailed
from rag.models import DataSource
from rag.pipeline.ingestion import add_signatures
from rag.providers import provider_factory
from ragsite.postgres.locks import session_lock

logger = structlog.get_logger(__name__)

_BATCH_SIZE = 32
# Cache keys of the current pass's position and of the pause until the next pass. If the cache loses them, a pass reads
# the id of every chunk.
_POSITION_KEY = "token-signatures/position"
_POSITION_SECONDS = 86_400
_PAUSE_KEY = "token-signatures/pause"
_PAUSE_SECONDS = 600
_FIRST = uuid.UUID(int=0)


def backfill_signatures() -> None:
    """Continue the pass through all chunks, for at most as long as the sweep's interval.

    A pass goes through all sources, and in each through the ids of its chunks; ten minutes after its end the next one
    begins. Which signatures are missing is read from the chunks themselves, so that no separate record can be wrong.
    One process at a time does this; if it dies, at most its current batch is computed twice.
    """
    with session_lock("token_signatures") as is_acquired:
        if not is_acquired or cache.get(_PAUSE_KEY):
            return
        try:
            _continue_pass(deadline=time.monotonic() + settings.RAG_SWEEP_INTERVAL_SECONDS)
        except (DatabaseError, InterfaceError):
            logger.exception("token_signatures_interrupted")
            connection.close()
        except EmbeddingFailed as error:
            logger.warning("token_signatures_interrupted", reason=error.message)
            cache.set(_PAUSE_KEY, True, _PAUSE_SECONDS)


def _continue_pass(*, deadline: float) -> None:
    position = cache.get(_POSITION_KEY) or (str(_FIRST), str(_FIRST))
    source_id, chunk_id = (uuid.UUID(value) for value in position)
    sources = DataSource.objects.filter(deleted_at=None).select_related("embedding_model").order_by("pk")
    for source in sources.filter(pk__gte=source_id):
        if provider_factory.token_embedder(source.embedding_model) is None:
            continue
        if not _backfill_source(source, deadline, after=chunk_id if source.pk == source_id else _FIRST):
            return
    cache.delete(_POSITION_KEY)
    cache.set(_PAUSE_KEY, True, _PAUSE_SECONDS)


def _backfill_source(source: DataSource, deadline: float, *, after: uuid.UUID) -> bool:
    """Add the missing signatures of a source, and return False if the time was over before its end."""
    while True:
        chunk_ids, last = add_signatures.chunks_without_signatures(source, after=after)
        if last is None:
            return True
        batch = chunk_ids[:_BATCH_SIZE]
        if batch:
            add_signatures.add_signatures(source, batch)
        after = batch[-1] if len(batch) < len(chunk_ids) else last
        if time.monotonic() > deadline:
            cache.set(_POSITION_KEY, [str(source.pk), str(after)], _POSITION_SECONDS)
            return False
