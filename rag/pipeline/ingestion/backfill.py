"""Steps: stored chunks → the bits of their pieces, for those that have none."""

import uuid
from collections.abc import Sequence

from rag.models import Chunk, DataSource, PieceBits
from rag.pipeline.embed import embed_pieces, embedded_text
from rag.providers.stores.pgvector import token_signatures

_LOOKED_AT = 2_000


def missing(source: DataSource, *, after: uuid.UUID) -> tuple[list[uuid.UUID], uuid.UUID | None]:
    """Those of the source's next chunks, by their keys, that have no bits; and the last one looked at, None at the end.

    Two looks into indexes, however long the chunks are.
    """
    chunks = Chunk.objects.filter(source=source, pk__gt=after)
    keys = list(chunks.order_by("pk").values_list("pk", flat=True)[:_LOOKED_AT])
    there = set(PieceBits.objects.filter(chunk__in=keys).values_list("chunk_id", flat=True))
    return [key for key in keys if key not in there], keys[-1] if keys else None


def supply(source: DataSource, chunk_ids: Sequence[uuid.UUID]) -> int:
    """Compute the bits of these chunks and write them; how many were written. Raises EmbeddingFailed.

    What of them is deleted by now, or is being deleted, is left out.
    """
    rows = Chunk.objects.filter(pk__in=chunk_ids, document__deleted_at=None)
    chunks = list(rows.values_list("pk", "text", "headings", "document__title"))
    texts = [embedded_text(text, headings, title) for _, text, headings, title in chunks]
    pieces = embed_pieces(texts, source.embedding_model)
    return token_signatures.add({key: own for (key, *_), own in zip(chunks, pieces, strict=True)}) if pieces else 0
