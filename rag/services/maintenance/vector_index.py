"""When the vector index is built: once a table is too large for exact search, and its load has calmed down."""

import time

from django.conf import settings
from django.core.cache import cache

from rag.providers.stores.pgvector import hnsw

# Rows a second. A load that is faster than this would be slowed down by a live index.
_FAST = 100
_REMEMBERED = 600


def tend() -> None:
    """Beat calls it at the pace of the sweep. Cheap unless something is to be built."""
    for state in hnsw.states():
        if not state.is_there and state.rows > settings.RAG_EXACT_SEARCH_MAX_CHUNKS and _is_calm(state):
            hnsw.build(state.dimensions)


def _is_calm(state: hnsw.IndexState) -> bool:
    """Whether fewer than 100 rows a second came since the last look. At the first look nobody knows."""
    key = f"vector-index/{state.dimensions}"
    before, now = cache.get(key), time.time()
    cache.set(key, [state.inserted, now], _REMEMBERED)
    if before is None or now <= before[1]:
        return False
    return (state.inserted - before[0]) / (now - before[1]) < _FAST
