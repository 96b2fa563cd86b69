"""Steps: stored chunks -> token signatures, for those that have none."""

import uuid
from collections.abc import Sequence

from rag.models import Chunk, DataSource
from rag.pipeline.embed import embed_token_signatures
from rag.providers import registry
from rag.text.embedded_text import embedded_text

_MAX_CHUNKS_READ = 2_000


def chunks_without_signatures(source: DataSource, *, after: uuid.UUID) -> tuple[list[uuid.UUID], uuid.UUID | None]:
    """Look at the source's next chunks, in the order of their ids.

    Args:
        source: Whose chunks.
        after: The last chunk looked at before.

    Returns:
        The ids of those without signatures, and the last id looked at: None at the end of the source.
    """
    return registry.chunk_store().chunks_without_signatures(source.pk, after=after, limit=_MAX_CHUNKS_READ)


def add_signatures(source: DataSource, chunk_ids: Sequence[uuid.UUID]) -> int:
    """Compute the signatures of these chunks and write them.

    Returns:
        How many were written: chunks of deleted documents, and chunks being deleted, are left out.

    Raises:
        EmbeddingFailed: The local model cannot be loaded.
    """
    rows = Chunk.objects.filter(pk__in=chunk_ids, document__deleted_at=None)
    chunks = list(rows.values_list("pk", "text", "headings", "document__title"))
    texts = [embedded_text(text, headings, title) for _, text, headings, title in chunks]
    signatures = embed_token_signatures(texts, source.embedding_model)
    if not signatures:
        return 0
    signatures_by_chunk = {chunk_id: rows for (chunk_id, *_), rows in zip(chunks, signatures, strict=True)}
    return registry.chunk_store().add_signatures(signatures_by_chunk)
