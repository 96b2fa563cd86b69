"""Step: found chunks → passages, with their texts and documents."""

from collections.abc import Sequence
from typing import Any

from rag.models import Chunk
from rag.types import Hit, Passage


def passages(hits: Sequence[Hit]) -> list[Passage]:
    """The hits with their texts and documents, in the same order; without those that are deleted or replaced."""
    # Asked for as they are: their own order would join three tables more, and for a condition on documents PostgreSQL
    # reads all of these first while it has no statistics yet.
    rows = Chunk.objects.filter(pk__in=[hit.chunk_id for hit in hits]).order_by()
    chunks = {
        key: dict(zip(_COLUMNS.values(), values, strict=True))
        for key, deleted_at, *values in rows.values_list("pk", "document__deleted_at", *_COLUMNS)
        if deleted_at is None
    }
    found = [(hit, chunks[hit.chunk_id]) for hit in hits if hit.chunk_id in chunks]
    return [_passage(rank, hit, chunk) for rank, (hit, chunk) in enumerate(found, start=1)]


# Column → the passage's field. Plain values: making three model objects a chunk cost more than the query.
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


def _passage(rank: int, hit: Hit, values: dict[str, Any]) -> Passage:
    lists = {"headings": tuple(values["headings"]), "tags": tuple(values["tags"])}
    return Passage(
        chunk_id=hit.chunk_id,
        rank=rank,
        score=_share(hit.score),
        relevance=_share(hit.score if hit.relevance is None else hit.relevance),
        coverage=hit.coverage,
        **{**values, **lists},
    )


def _share(value: float) -> float:
    return min(1.0, max(0.0, value))
