"""POST /api/rag/query: retrieval, context, grounding and answer in one (pipeline contract, sub-contracts 2 to 5)."""

from typing import Any, TypedDict

from django.conf import settings
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.schema import answered, sent
from accounts.schema_types import Count, Id, Share
from orgs.permissions import Scope
from rag.contracts import fields
from rag.contracts.base import validated
from rag.contracts.limits import QUERIES
from rag.contracts.streaming import EVENTS, StreamEvent, stream
from rag.pipeline.ask import Terms
from rag.services import queries
from rag.types import Answered, Citation, Generation, Passage

from . import examples
from .retrieve import PassageOut, RetrieveIn, RetrieveOut, passage_out, question, reader, retrieval_out
from .views import PipelineView

MAX_TEMPLATE = 20_000


class QueryIn(RetrieveIn):
    maxTokens = fields.Integer("maxTokens", min_value=64, max_value=settings.RAG_MAX_CONTEXT_TOKENS, required=False)
    template = fields.Text("template", required=False, max_length=MAX_TEMPLATE)
    strictMode = fields.Boolean("strictMode", default=False)
    model = fields.Text("model", required=False, max_length=200)
    temperature = fields.Number("temperature", min_value=0.0, max_value=2.0, required=False)
    stream = fields.Boolean("stream", default=False)


class CitationOut(TypedDict):
    """number: as the prompt and the answer write it, [1]. start, end: characters of the document's text."""

    number: Count
    chunkId: Id
    documentId: Id
    dataSourceId: Id
    title: str
    path: str
    uri: str | None
    quote: str
    score: Share
    start: Count
    end: Count


class QueryOut(RetrieveOut):
    prompt: str
    includedDocs: Count
    tokenCount: Count
    citations: list[CitationOut]
    isGroundable: bool
    groundingScore: Share
    relevantDocs: list[PassageOut]
    gaps: list[str]
    answer: str
    citationsUsed: list[CitationOut]
    confidence: Share
    model: str | None


class Query(PipelineView):
    error_statuses = (*PipelineView.error_statuses, 422)
    budget = QUERIES
    scopes = {"POST": Scope.QUERY}

    @extend_schema(
        operation_id="query",
        summary="Ask a question",
        description="Retrieval, context, grounding and answer in one. What the sources do not hold is declined.",
        request=QueryIn,
        responses={200: QueryOut, (200, "text/event-stream"): StreamEvent},
        examples=[
            sent({**examples.QUESTION, "maxTokens": 2000, "strictMode": False}, "Question"),
            answered(examples.ANSWER, "Answer"),
            answered(EVENTS, "Events", media_type="text/event-stream"),
        ],
    )
    def post(self, request: Request) -> HttpResponseBase:
        values = validated(QueryIn, request.data)
        events = queries.ask(question(values), reader(request, values), terms(values))
        if values["stream"]:
            return stream(events, sources=retrieval_out, done=query_out, on_error=type(self).error_handler)
        return Response(query_out(queries.whole(events)))


def terms(values: dict[str, Any]) -> Terms:
    return Terms(
        max_tokens=values.get("maxTokens", settings.RAG_CONTEXT_TOKENS),
        template=values.get("template", ""),
        strict=values["strictMode"],
        generation=Generation(values.get("model", ""), values.get("temperature"), values["stream"]),
    )


def query_out(answered: Answered) -> QueryOut:
    context, grounding, answer = answered.context, answered.grounding, answered.answer
    retrieval = retrieval_out(answered.retrieval)
    offered = [Citation(number, each, each.snippet) for number, each in enumerate(context.passages, start=1)]
    return {
        **retrieval,
        "warnings": [*retrieval["warnings"], *answer.warnings],
        "prompt": context.prompt,
        "includedDocs": len(context.passages),
        "tokenCount": context.token_count,
        "citations": [_citation_out(each) for each in offered],
        "isGroundable": grounding.is_groundable,
        "groundingScore": grounding.score,
        "relevantDocs": [passage_out(each) for each in grounding.relevant],
        "gaps": list(grounding.gaps),
        "answer": answer.text,
        "citationsUsed": [_citation_out(each) for each in answer.citations],
        "confidence": answer.confidence,
        "model": answer.model or None,
    }


def _citation_out(citation: Citation) -> CitationOut:
    passage: Passage = citation.passage
    return {
        "number": citation.number,
        "chunkId": str(passage.chunk_id),
        "documentId": str(passage.document_id),
        "dataSourceId": str(passage.source_id),
        "title": passage.title,
        "path": passage.path,
        "uri": passage.uri or None,
        "quote": citation.quote,
        "score": passage.score,
        "start": passage.start,
        "end": passage.end,
    }
