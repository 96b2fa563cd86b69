"""Moves a running system from pgvector to Qdrant and back. PostgreSQL keeps all vectors, so nothing can be lost."""

import uuid
from collections.abc import Callable

from django.conf import settings

from rag.providers import provider_factory

_DOCUMENTS, _CHANGES = 50, 500
_FIRST = uuid.UUID(int=0)


def copy_to_qdrant(advance: Callable[[int], None], *, recreate: bool = False) -> int:
    """Record all changes from now on, and copy every document. It can be repeated after an interruption.

    Args:
        advance: Called with the number of documents after each batch.
        recreate: Delete the collections before. Searches in Qdrant fail meanwhile.

    Returns:
        The number of points that were deleted because their chunks do not exist.

    Raises:
        IndexUnavailable: If Qdrant does not answer.
    """
    store = provider_factory.qdrant_store()
    if recreate:
        store.delete_collections()
    store.switch_recording(on=True)
    position = _FIRST
    while last := store.copy_documents(after=position, limit=_DOCUMENTS):
        position = last
        advance(_DOCUMENTS)
    leftovers = store.delete_leftovers()
    while store.apply_changes(limit=_CHANGES):
        pass
    return leftovers


def models_without_token_vectors() -> list[str]:
    """Return the models whose chunks have no token vectors in Qdrant, because an earlier version made the collection.

    Raises:
        IndexUnavailable: If Qdrant does not answer.
    """
    return provider_factory.qdrant_store().models_without_token_vectors()


def recall(sample: int) -> float:
    """Return the share of the nearest ten chunks in PostgreSQL that Qdrant finds too, for sampled chunks of each model.

    Raises:
        IndexUnavailable: If Qdrant does not answer.
    """
    return provider_factory.qdrant_store().recall(sample)


def finish_return() -> None:
    """Stop recording changes. Processes that still search in Qdrant would find outdated copies from then on."""
    provider_factory.qdrant_store().switch_recording(on=False)


def build_vector_indexes() -> list[int]:
    """Build the indexes that searches in PostgreSQL need, without blocking others, and return their dimensions."""
    store = provider_factory.pgvector_store()
    due = [
        vector_index.dimensions
        for vector_index in store.vector_indexes()
        if not vector_index.is_built and vector_index.row_count > settings.RAG_EXACT_SEARCH_MAX_CHUNKS
    ]
    return [dimensions for dimensions in due if store.build_vector_index(dimensions)]
