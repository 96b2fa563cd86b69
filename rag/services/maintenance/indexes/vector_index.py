"""Builds a vector index once its table is too large for exact search and its load has calmed down."""

import time

from django.conf import settings
from django.core.cache import cache

from rag.providers import provider_factory
from rag.providers.stores.base import VectorIndex

# While rows are inserted faster than this, no index is built: it would slow the insertion down.
_MAX_ROWS_PER_SECOND = 100
_CACHE_SECONDS = 600


def maintain() -> None:
    """Build the indexes that are due, if searches use them. Called as often as the sweep; cheap if no index is due."""
    store = provider_factory.chunk_store()
    if store.searches_outside_database:
        return
    for index in store.vector_indexes():
        is_large = index.row_count > settings.RAG_EXACT_SEARCH_MAX_CHUNKS
        if not index.is_built and is_large and _is_calm(index):
            store.build_vector_index(index.dimensions)


def _is_calm(index: VectorIndex) -> bool:
    """Return whether fewer than 100 rows per second were inserted since the last call; False at the first call."""
    key = f"vector-index/{index.dimensions}"
    previous, now = cache.get(key), time.time()
    cache.set(key, [index.inserted_count, now], _CACHE_SECONDS)
    if previous is None or now <= previous[1]:
        return False
    return bool((index.inserted_count - previous[0]) / (now - previous[1]) < _MAX_ROWS_PER_SECOND)
