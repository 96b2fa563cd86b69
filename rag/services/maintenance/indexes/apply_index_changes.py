"""Copies what has changed to a search index outside of the database (docs/decisions/0070-qdrant.md)."""

import time

import structlog
from django.conf import settings

from rag import task_queue
from rag.errors import IndexUnavailable
from rag.providers import provider_factory

logger = structlog.get_logger(__name__)

_BATCH_SIZE = 500
# Seconds after which a message is discarded: the sweep has run since.
_EXPIRES = 60


def apply_changes() -> None:
    """Copy waiting changes, for at most RAG_SWEEP_INTERVAL_SECONDS. Beat calls it at this interval."""
    deadline = time.monotonic() + settings.RAG_SWEEP_INTERVAL_SECONDS
    store = provider_factory.chunk_store()
    try:
        while time.monotonic() < deadline and store.apply_changes(limit=_BATCH_SIZE):
            pass
    except IndexUnavailable as error:
        logger.warning("index_copy_postponed", reason=error.message)


def apply_soon() -> None:
    """Have a worker copy the changes of the current transaction when it is committed."""
    if provider_factory.chunk_store().searches_outside_database:
        task_queue.send("rag.apply_index_changes", expires=_EXPIRES)
