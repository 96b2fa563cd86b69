"""The pipeline contract's questions: POST /api/rag/retrieve (sub-contract 2), POST /api/rag/query (2 to 5 in one)."""

from typing import Any

from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from orgs.access.permissions import Scope
from rag.contracts.common.base import caller, key_of, organization, validated
from rag.contracts.common.rate_limits import QUERIES
from rag.contracts.common.streaming import EVENTS, StreamEvent, stream
from rag.contracts.pipeline import examples
from rag.contracts.pipeline.base import PipelineView
from rag.errors import NoResults
from rag.services.search import queries
from ragsite.http.openapi import answered, sent

from .query_serializers import QueryIn, QueryOut, query_out, terms
from .retrieve_serializers import RetrieveIn, RetrieveOut, question, retrieval_out


class Retrieve(PipelineView):
    budget = QUERIES
    scopes = {"POST": Scope.QUERY}

    @extend_schema(
        operation_id="retrieve",
        summary="Retrieve passages",
        description="Ordered by relevance; only from data sources that the caller may query.",
        request=RetrieveIn,
        responses={200: RetrieveOut},
        examples=[sent(examples.QUESTION, "Question"), answered(examples.RETRIEVAL, "Passages")],
    )
    def post(self, request: Request) -> Response:
        values = validated(RetrieveIn, request.data)
        found = queries.retrieve(question(values), _reader(request, values))
        if not found.passages:
            raise NoResults
        return Response(retrieval_out(found))


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
        events = queries.ask(question(values), _reader(request, values), terms(values))
        if values["stream"]:
            return stream(events, sources=retrieval_out, done=query_out, on_error=type(self).error_handler)
        return Response(query_out(queries.run_to_completion(events)))


def _reader(request: Request, values: dict[str, Any]) -> queries.SourceSelection:
    chosen = values.get("dataSources", ())
    return queries.SourceSelection(
        user=caller(request), key=key_of(request), organization=organization(request), data_sources=chosen
    )
