"""Step: hits -> passages, with their texts and documents."""

from collections.abc import Sequence
from typing import Any

from rag.models import Chunk
from rag.types import Hit, Passage

# Column → field of the passage. Plain values are read: creating three model instances per chunk costs more than the
# query.
_COLUMNS = {
    "document_id": "document_id",
    "source_id": "source_id",
    "source__slug": "source_slug",
    "source__organization_id": "organization_id",
    "text": "text",
    "position": "position",
    "start": "start",
    "end": "end",
    "headings": "headings",
    "first_page": "first_page",
    "last_page": "last_page",
    "document__title": "title",
    "document__path": "path",
    "document__uri": "uri",
    "document__content_type": "content_type",
    "document__source_type": "source_type",
    "document__lang": "lang",
    "document__tags": "tags",
    "document__metadata": "metadata",
    "document__date": "date",
}


def read_passages(hits: Sequence[Hit]) -> list[Passage]:
    """Return the hits with their texts and documents, in the same order. Chunks deleted meanwhile are left out."""
    # order_by(): the model's ordering would join three more tables. The condition on the document is checked here:
    # as long as PostgreSQL has no statistics, it would read all documents for it first.
    chunks = Chunk.objects.filter(pk__in=[hit.chunk_id for hit in hits]).order_by()
    values_by_chunk = {
        chunk_id: dict(zip(_COLUMNS.values(), values, strict=True))
        for chunk_id, deleted_at, *values in chunks.values_list("pk", "document__deleted_at", *_COLUMNS)
        if deleted_at is None
    }
    existing = [(hit, values_by_chunk[hit.chunk_id]) for hit in hits if hit.chunk_id in values_by_chunk]
    return [_passage(rank, hit, values) for rank, (hit, values) in enumerate(existing, start=1)]


def _passage(rank: int, hit: Hit, values: dict[str, Any]) -> Passage:
    lists = {"headings": tuple(values["headings"]), "tags": tuple(values["tags"])}
    return Passage(
        chunk_id=hit.chunk_id,
        rank=rank,
        score=_clamp(hit.score),
        relevance=_clamp(hit.score if hit.relevance is None else hit.relevance),
        coverage=hit.coverage,
        **{**values, **lists},
    )


def _clamp(value: float) -> float:
    return min(1.0, max(0.0, value))
