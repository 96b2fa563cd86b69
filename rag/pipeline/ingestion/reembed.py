"""Steps of a re-embedding: stored chunks -> vectors of another model, and the deletion of a model's vectors.

Each step processes a bounded number of a source's chunks, in the order of their ids, and returns where to continue.
"""

import uuid
from collections.abc import Sequence

from rag.models import Chunk, DataSource, Document, EmbeddingModel
from rag.providers import provider_factory
from rag.providers.base import Vectors
from rag.providers.stores.store_writes import StoredChunk
from rag.text.indexed_text import embedded_text
from rag.types import FILTER_FIELDS

_DELETE_BATCH_SIZE = 2_000
# How many chunks are embedded again at most after a worker was lost.
_MAX_BATCH_SIZE = 128


def count_chunks(source: DataSource, model: EmbeddingModel) -> tuple[int, int]:
    """Return how many chunks the source has, and how many of them have no vector of the model."""
    # The chunks of deleted documents are not searched, await their deletion and need no vectors.
    total = Chunk.objects.filter(source=source, document__deleted_at=None).count()
    return total, provider_factory.chunk_store().count_chunks_without_vector(source.pk, model)


def is_complete(source: DataSource, model: EmbeddingModel) -> bool:
    """Return whether every chunk of the source has a vector of the model, as this transaction sees it."""
    return provider_factory.chunk_store().has_all_vectors(source.pk, model)


def next_chunks(source: DataSource, model: EmbeddingModel, *, after: uuid.UUID | None) -> list[StoredChunk]:
    """Return the next chunks without a vector of the model, for one call of its embedder and one transaction.

    Args:
        source: The data source.
        model: The model of the new vectors.
        after: The last chunk of the previous call; None at the beginning.
    """
    limit = min(provider_factory.embedder(model).batch_size, _MAX_BATCH_SIZE)
    return provider_factory.chunk_store().chunks_without_vector(source.pk, model, after=after, limit=limit)


def embed(chunks: Sequence[StoredChunk], model: EmbeddingModel) -> Vectors:
    """Embed the chunks as ingestion would embed them now.

    Returns:
        The vectors, float32 of shape (len(chunks), model.dimensions).

    Raises:
        EmbeddingFailed: If the model did not answer.
    """
    texts = [model.document_prefix + embedded_text(chunk.text, chunk.headings, chunk.title) for chunk in chunks]
    return provider_factory.embedder(model).embed(texts)


def add_vectors(model: EmbeddingModel, chunks: Sequence[StoredChunk], vectors: Vectors) -> int:
    """Write the vectors of chunks that still exist, in the current transaction, which has locked their source.

    Documents that another transaction is writing are left to the next pass, so that neither waits for the other. The
    other documents are locked, because the fields that searches filter by are copied from them.

    Returns:
        The number of written vectors.
    """
    documents = (
        Document.objects.live()
        .filter(pk__in={chunk.document_id for chunk in chunks})
        .order_by("pk")
        .select_for_update(no_key=True, skip_locked=True)
        .only("pk", "source", *FILTER_FIELDS)
    )
    return provider_factory.chunk_store().add_vectors(chunks, vectors, list(documents), model=model)


def delete_vectors(source_id: uuid.UUID, model: EmbeddingModel, *, after: uuid.UUID | None) -> uuid.UUID | None:
    """Delete the model's vectors of the source's next chunks.

    Returns:
        The last examined chunk; None at the end of the source.
    """
    return provider_factory.chunk_store().delete_vectors(source_id, model, after=after, limit=_DELETE_BATCH_SIZE)
