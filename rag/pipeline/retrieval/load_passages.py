"""Step: hits -> passages, with their texts and documents."""

import json
from collections.abc import Sequence
from typing import Any

from rag.types import Hit, Passage
from ragsite.postgres.base import read_rows

_READ = "SELECT * FROM rag_read_passages_with_pages(%s::uuid[])"
# The columns of the SQL function, in its order, which are fields of a passage.
_FIELDS = (
    "document_id", "source_id", "source_slug", "organization_id", "text", "position", "start", "end", "headings",
    "first_page", "last_page", "page_starts", "title", "path", "uri", "content_type", "source_type", "lang", "tags",
    "metadata", "date",
)  # fmt: skip


def read_passages(hits: Sequence[Hit]) -> list[Passage]:
    """Return the hits with their texts and documents, in the same order. Chunks deleted meanwhile are left out.

    A function in the database (rag/migrations/sql/passages_with_pages.sql) reads them. It checks the caller's access
    again.
    """
    rows = {chunk_id: values for chunk_id, *values in read_rows(_READ, [[hit.chunk_id for hit in hits]])}
    existing = [(hit, rows[hit.chunk_id]) for hit in hits if hit.chunk_id in rows]
    return [_passage(rank, hit, values) for rank, (hit, values) in enumerate(existing, start=1)]


def _passage(rank: int, hit: Hit, values: Sequence[Any]) -> Passage:
    fields = dict(zip(_FIELDS, values, strict=True))
    fields["headings"] = tuple(fields["headings"])
    fields["tags"] = tuple(fields["tags"])
    fields["page_starts"] = tuple(fields["page_starts"] or ())
    fields["metadata"] = json.loads(fields["metadata"])
    return Passage(
        chunk_id=hit.chunk_id,
        rank=rank,
        score=_clamp(hit.score),
        relevance=_clamp(hit.score if hit.relevance is None else hit.relevance),
        coverage=hit.coverage,
        **fields,
    )


def _clamp(value: float) -> float:
    return min(1.0, max(0.0, value))
