"""Steps: stored chunks without token signatures -> their token signatures."""

import uuid
from collections.abc import Sequence

from rag.models import Chunk, DataSource
from rag.pipeline.embed_documents import embed_token_signatures
from rag.providers import provider_factory
from rag.text.indexed_text import embedded_text

_MAX_CHUNKS_READ = 2_000


def chunks_without_signatures(source: DataSource, *, after: uuid.UUID) -> tuple[list[uuid.UUID], uuid.UUID | None]:
    """Find chunks without signatures among the source's next chunks, in the order of their ids.

    Args:
        source: The data source.
        after: The last chunk that the previous call examined.

    Returns:
        The ids of chunks without signatures, and the last examined id, which is None at the end of the source.
    """
    return provider_factory.chunk_store().chunks_without_signatures(source.pk, after=after, limit=_MAX_CHUNKS_READ)


def add_signatures(source: DataSource, chunk_ids: Sequence[uuid.UUID]) -> int:
    """Compute the signatures of these chunks and write them.

    Returns:
        The number of chunks whose signatures were written, without chunks that are or are being deleted.

    Raises:
        EmbeddingFailed: If the local model cannot be loaded.
    """
    live_chunks = Chunk.objects.filter(pk__in=chunk_ids, document__deleted_at=None)
    chunks = list(live_chunks.values_list("pk", "text", "headings", "document__title"))
    texts = [embedded_text(text, headings, title) for _, text, headings, title in chunks]
    signatures = embed_token_signatures(texts, source.embedding_model)
    if not signatures:
        return 0
    signatures_by_chunk = {
        chunk_id: chunk_signatures for (chunk_id, *_), chunk_signatures in zip(chunks, signatures, strict=True)
    }
    return provider_factory.chunk_store().add_signatures(signatures_by_chunk)
