"""Step: question → the nearest chunks of the open sources, as passages."""

from collections.abc import Sequence
from typing import Any

import structlog

from rag.errors import EmbeddingFailed
from rag.models import Chunk, EmbeddingModel
from rag.providers import registry
from rag.types import Hit, Passage, Question, Scope

from .embed import embed_question

logger = structlog.get_logger(__name__)

# How many candidates each model's sources contribute before the cut to top_k.
CANDIDATES = 100


def retrieve(question: Question, scopes: Sequence[Scope]) -> list[Hit]:
    """Candidates from every scope, best first. The question is embedded once for each embedding model.

    Sources whose model fails are left out; EmbeddingFailed if all do. Raises IndexUnavailable.
    """
    models = EmbeddingModel.objects.in_bulk([scope.model_id for scope in scopes])
    hits: list[Hit] = []
    failures: list[EmbeddingFailed] = []
    for scope in scopes:
        model = models[scope.model_id]
        try:
            vector = embed_question(question.text, model=model)
        except EmbeddingFailed as error:  # one organisation's broken model must not end everybody's search
            logger.warning("scope_not_searched", model=model.name, code=error.code)
            failures.append(error)
            continue
        hits += registry.vector_store(model).search(vector, scope, max(CANDIDATES, question.top_k))
    if failures and len(failures) == len(scopes):
        raise failures[0]
    hits.sort(key=lambda hit: (-hit.score, hit.chunk_id))
    return [hit for hit in hits if hit.score >= question.min_score] if question.min_score > 0 else hits


def passages(hits: Sequence[Hit]) -> list[Passage]:
    """The hits with their texts and documents, in the same order; without those that are deleted or replaced."""
    found_now = Chunk.objects.filter(pk__in=[hit.chunk_id for hit in hits], document__deleted_at=None)
    rows = found_now.values_list("pk", *_COLUMNS)
    chunks = {key: dict(zip(_COLUMNS.values(), values, strict=True)) for key, *values in rows}
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
    score = min(1.0, max(0.0, hit.score))
    return Passage(chunk_id=hit.chunk_id, rank=rank, score=score, relevance=score, **{**values, **lists})
