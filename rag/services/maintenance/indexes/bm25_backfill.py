"""Adds chunks to the BM25 index that it lacks, for example those of a database that is older than the index."""

import time
import uuid

import structlog
from django.conf import settings
from django.core.cache import cache
from django.db import transaction

from rag.models import DataSource, Document
from rag.providers import provider_factory
from ragsite.postgres.locks import session_lock

logger = structlog.get_logger(__name__)

# Number of chunks per transaction. Other writers of their organisation wait until it ends.
_BATCH_SIZE = 500
# If a pass finds nothing missing, the next one starts ten minutes later. Ingestion indexes every chunk, so chunks are
# missing only if processes of an older version wrote them, for example during an upgrade.
_COMPLETE_KEY = "bm25-index/complete"
_COMPLETE_SECONDS = 600


def maintain() -> None:
    """Index the missing chunks, for at most as long as the sweep's interval.

    If no chunk was missing, the next ten minutes only read a key of the cache.
    """
    if cache.get(_COMPLETE_KEY):
        return
    deadline = time.monotonic() + settings.RAG_SWEEP_INTERVAL_SECONDS
    store = provider_factory.chunk_store()
    with session_lock("bm25_index") as is_acquired:
        if not is_acquired:
            return
        nothing_missing = True
        for source in DataSource.objects.filter(deleted_at=None).order_by("pk"):
            after = uuid.UUID(int=0)
            while batch := store.chunks_without_terms(source.pk, after=after, limit=_BATCH_SIZE):
                nothing_missing = False
                if time.monotonic() > deadline:
                    return
                _add_terms(source, {document_id for _, document_id in batch})
                after = batch[-1][0]
        if nothing_missing:
            cache.set(_COMPLETE_KEY, True, _COMPLETE_SECONDS)


@transaction.atomic
def _add_terms(source: DataSource, document_ids: set[uuid.UUID]) -> None:
    """Add the terms of documents. Those that another transaction is writing right now are left to the next pass."""
    documents = Document.objects.live().filter(source=source, pk__in=document_ids).order_by("pk")
    locked_ids = list(documents.select_for_update(no_key=True, skip_locked=True).values_list("pk", flat=True))
    provider_factory.chunk_store().add_missing_terms(locked_ids, limit=_BATCH_SIZE)
    logger.info("terms_added", source=str(source.pk), documents=len(locked_ids))
