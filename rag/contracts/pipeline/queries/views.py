"""The pipeline contract's queries: POST /api/rag/retrieve (sub-contract 2), /query (2 to 5 in one) and /explain."""

import dataclasses
from typing import Any

from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from orgs.access.permissions import Scope
from rag.contracts.common.base import get_caller, has_scope, organization, validated
from rag.contracts.common.rate_limits import QUERIES
from rag.contracts.common.streaming import EVENTS, StreamEvent, stream
from rag.contracts.pipeline import examples
from rag.contracts.pipeline.base import PipelineViewSet
from rag.errors import NoResults
from rag.services.search import queries, search_trace
from ragsite.http.openapi import answered, sent

from .explain_serializers import ExplainIn, ExplainOut, explain_out
from .query_serializers import QueryIn, QueryOut, query_out, terms
from .retrieve_serializers import RetrieveIn, RetrieveOut, question, retrieval_out


class Queries(PipelineViewSet):
    """Searches and questions over the data sources that the caller may query."""

    error_statuses = (*PipelineViewSet.error_statuses, 422)
    rate_limit = QUERIES
    scopes = {"POST": Scope.QUERY}

    @extend_schema(
        operation_id="retrieve",
        summary="Retrieve passages",
        description="Ordered by relevance; only from data sources that the caller may query.",
        request=RetrieveIn,
        responses={200: RetrieveOut},
        examples=[sent(examples.QUESTION, "Question"), answered(examples.RETRIEVAL, "Passages")],
    )
    @action(detail=False, methods=["post"], url_path="retrieve", error_statuses=PipelineViewSet.error_statuses)
    def retrieve_passages(self, request: Request) -> Response:
        values = validated(RetrieveIn, request.data)
        found = queries.retrieve(question(values), _reader(request, values))
        if not found.passages:
            raise NoResults
        return Response(retrieval_out(found))

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
    @action(detail=False, methods=["post"])
    def query(self, request: Request) -> HttpResponseBase:
        values = validated(QueryIn, request.data)
        events = queries.ask(question(values), _reader(request, values), terms(values))
        if values["stream"]:
            return stream(events, sources=retrieval_out, done=query_out, on_error=type(self).error_handler)
        return Response(query_out(queries.run_to_completion(events)))

    @extend_schema(
        operation_id="explainSearch",
        summary="Why something is found, or not",
        description="For whoever manages data sources: how a question goes through those of them that a user may "
        "query, step by step. Others are neither counted nor named.",
        request=ExplainIn,
        responses={200: ExplainOut},
        examples=[
            sent({"query": examples.QUESTION["query"], "user": "ada@acme.example", "topK": 3}, "Question"),
            answered(examples.EXPLAINED, "Funnel"),
        ],
    )
    @action(detail=False, methods=["post"], scopes={"POST": Scope.MANAGE})
    def explain(self, request: Request) -> Response:
        values = validated(ExplainIn, request.data)
        asked = search_trace.TraceRequest(
            asker=get_caller(request),
            user=values.get("user", ""),
            organization=organization(request),
            data_sources=values.get("dataSources", ()),
            document_id=values.get("document", ""),
            may_read=has_scope(request, Scope.QUERY),
        )
        wanted = dataclasses.replace(question(values), min_score=values["minScore"])
        return Response(explain_out(search_trace.explain_search(wanted, asked)))


def _reader(request: Request, values: dict[str, Any]) -> queries.SourceSelection:
    chosen = values.get("dataSources", ())
    return queries.SourceSelection(caller=get_caller(request), organization=organization(request), data_sources=chosen)
