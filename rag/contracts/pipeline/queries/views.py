"""The pipeline contract's queries: POST /api/rag/retrieve (sub-contract 2), /query (2 to 5 in one) and /explain."""

import dataclasses

from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from orgs.access.permissions import Scope
from rag.contracts.common.base import get_caller, has_scope, organization, validate
from rag.contracts.common.rate_limits import QUERIES
from rag.contracts.common.streaming import EXAMPLE_STREAM, described_stream, stream
from rag.contracts.pipeline import examples
from rag.contracts.pipeline.base import PipelineViewSet
from rag.errors import NoResults
from rag.services.queries import permitted_queries
from rag.services.queries.source_selection import SourceSelection
from rag.services.queries.trace import search_trace, trace_permissions
from ragsite.http.openapi import request_example, response_example
from ragsite.http.strict_fields import ValidatedFields

from .explain_serializers import ExplainIn, ExplainOut, explain_out
from .query_serializers import QueryIn, QueryOut, build_answer_options, query_out
from .retrieve_serializers import RetrieveIn, RetrieveOut, build_question, retrieval_out


class Queries(PipelineViewSet):
    """Retrieval and answers from the data sources that the caller may query, and the explanation of a search."""

    error_statuses = (*PipelineViewSet.error_statuses, 422)
    rate_limit = QUERIES
    scopes = {"POST": Scope.QUERY}

    @extend_schema(
        operation_id="retrieve",
        summary="Retrieve passages",
        description="The most relevant passages, ordered by relevance, from data sources that the caller may query.",
        request=RetrieveIn,
        responses={200: RetrieveOut},
        examples=[request_example(examples.QUESTION, "Question"), response_example(examples.RETRIEVAL, "Passages")],
    )
    @action(detail=False, methods=["post"], url_path="retrieve", error_statuses=PipelineViewSet.error_statuses)
    def retrieve_passages(self, request: Request) -> Response:
        values = validate(RetrieveIn, request.data)
        retrieval = permitted_queries.retrieve(build_question(values), _build_source_selection(request, values))
        if not retrieval.passages:
            raise NoResults
        return Response(retrieval_out(retrieval))

    @extend_schema(
        operation_id="query",
        summary="Ask a question",
        description="Retrieves passages, builds the prompt, checks that the passages can answer the question, and "
        "answers it. If no passage answers it, the response says so.",
        request=QueryIn,
        responses={
            200: QueryOut,
            (200, "text/event-stream"): described_stream("PipelineQuery", sources=RetrieveOut, result=QueryOut),
        },
        examples=[
            request_example({**examples.QUESTION, "maxTokens": 2000, "strictMode": False}, "Question"),
            response_example(examples.ANSWER, "Answer"),
            response_example(EXAMPLE_STREAM, "Events", media_type="text/event-stream"),
        ],
    )
    @action(detail=False, methods=["post"])
    def query(self, request: Request) -> HttpResponseBase:
        values = validate(QueryIn, request.data)
        events = permitted_queries.ask(
            build_question(values),
            _build_source_selection(request, values),
            build_answer_options(values),
            stores_unanswered=True,
        )
        if values["stream"]:
            return stream(
                events, render_sources=retrieval_out, render_result=query_out, on_error=self.get_exception_handler()
            )
        return Response(query_out(permitted_queries.run_to_completion(events)))

    @extend_schema(
        operation_id="explainSearch",
        summary="Explain a search",
        description="Shows stage by stage how a query is answered for a user, over the data sources that the caller "
        "manages and that both may query. Of other data sources that the caller manages, only the user's access is "
        "explained. Each use is recorded in the audit trail.",
        request=ExplainIn,
        responses={200: ExplainOut},
        examples=[
            request_example({"query": examples.QUESTION["query"], "user": "ada@acme.example", "topK": 3}, "Question"),
            response_example(examples.EXPLAINED, "SearchTrace"),
        ],
    )
    @action(detail=False, methods=["post"], scopes={"POST": Scope.MANAGE})
    def explain(self, request: Request) -> Response:
        values = validate(ExplainIn, request.data)
        trace_request = trace_permissions.TraceRequest(
            caller=get_caller(request),
            user_reference=values.get("user", ""),
            organization=organization(request),
            data_sources=values.get("dataSources", ()),
            document_id=values.get("document", ""),
            may_query=has_scope(request, Scope.QUERY),
        )
        question = dataclasses.replace(build_question(values), min_score=values["minScore"])
        return Response(explain_out(search_trace.explain_search(question, trace_request)))


def _build_source_selection(request: Request, values: ValidatedFields) -> SourceSelection:
    return SourceSelection(
        caller=get_caller(request), organization=organization(request), data_sources=values.get("dataSources", ())
    )
