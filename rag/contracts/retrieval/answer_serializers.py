"""The fields of answer (contract, Endpoint 2)."""

import datetime
from collections.abc import Sequence
from typing import Annotated, TypedDict

from django.utils import timezone

from rag.contracts.common import fields
from rag.models import SourceType
from rag.types import ConfidentAnswer, Passage, Retrieval
from ragsite.http.openapi.field_types import Count, Id, Share

from .serializers import SearchIn, meta

MAX_CITATIONS = 5


class AnswerIn(SearchIn):
    stream = fields.Boolean("stream", default=False)


class AnswerText(TypedDict):
    """`model`: null if no answer was generated because the confidence is low."""

    text: str
    confidence: Annotated[str, {"enum": ["high", "medium", "low"]}]
    model: str | None
    generated_at: datetime.datetime


class AnswerCitation(TypedDict):
    """`source_id`, `source_type`, `source_title`, `source_uri`: of the document."""

    source_id: Id
    source_type: Annotated[str, {"enum": SourceType.values}]
    source_title: str
    source_uri: str | None
    snippet: str
    relevance_score: Share
    meta: dict[str, object]


class ContextUsed(TypedDict):
    chunks_retrieved: Count
    unique_sources: Count
    avg_relevance: Share


class AnswerOut(TypedDict):
    status: Annotated[str, {"enum": ["success", "insufficient_context"]}]
    query_text: str
    answer: AnswerText
    citations: list[AnswerCitation]
    context_used: ContextUsed
    processing_time_ms: Count


def answer_out(answer: ConfidentAnswer, *, query_text: str, time_ms: int) -> AnswerOut:
    passages = answer.retrieval.passages
    return {
        "status": "success" if answer.model else "insufficient_context",
        "query_text": query_text,
        "answer": {
            "text": answer.text,
            "confidence": answer.confidence.level,
            "model": answer.model or None,
            "generated_at": timezone.now(),
        },
        "citations": _citations(passages),
        "context_used": {
            "chunks_retrieved": len(passages),
            "unique_sources": len({passage.document_id for passage in passages}),
            "avg_relevance": answer.confidence.mean_similarity,
        },
        "processing_time_ms": time_ms,
    }


class AnswerSources(TypedDict):
    """What was found, in a stream before the answer."""

    citations: list[AnswerCitation]


def sources_out(retrieval: Retrieval) -> AnswerSources:
    return {"citations": _citations(retrieval.passages)}


def _citations(passages: Sequence[Passage]) -> list[AnswerCitation]:
    """Return the highest-scoring chunk of each document, for at most `MAX_CITATIONS` documents."""
    best_passages: dict[object, Passage] = {}
    for passage in passages:  # by descending score
        best_passages.setdefault(passage.document_id, passage)
    return [_citation(passage) for passage in list(best_passages.values())[:MAX_CITATIONS]]


def _citation(passage: Passage) -> AnswerCitation:
    return {
        "source_id": str(passage.document_id),
        "source_type": passage.source_type,
        "source_title": passage.title,
        "source_uri": passage.uri or None,
        "snippet": passage.snippet,
        "relevance_score": passage.score,
        "meta": meta(passage),
    }
