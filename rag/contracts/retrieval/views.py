"""The retrieval contract: POST /api/rag/search with `query_text` and POST /api/rag/answer, and both below
/functions/v1."""

import time

from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from orgs.access.permissions import Scope
from rag.contracts.common.base import CreateViewSet, get_caller, organization, validate
from rag.contracts.common.rate_limits import QUERIES
from rag.contracts.common.streaming import EXAMPLE_STREAM, described_stream, stream
from rag.services.queries import permitted_queries
from rag.services.queries.source_selection import SourceSelection
from rag.types import ConfidentAnswer, GenerationOptions
from ragsite.http.openapi import request_example, response_example
from ragsite.http.strict_fields import ValidatedFields

from . import answer_serializers, error_format, examples, serializers


class RetrievalViewSet(CreateViewSet):
    error_handler = staticmethod(error_format.handle_exception)
    error_body = serializers.RetrievalError
    rate_limit = QUERIES


class Search(RetrievalViewSet):
    scopes = {"POST": Scope.QUERY}

    @extend_schema(
        operation_id="retrievalSearch",
        summary="Search chunks",
        description="With `query_text`: the chunks most similar to it, by descending cosine similarity, from data "
        "sources that the caller may query.",
        request=serializers.SearchIn,
        responses={200: serializers.SearchOut},
        examples=[request_example(examples.SEARCH, "Search"), response_example(examples.CHUNKS, "Chunks")],
    )
    def create(self, request: Request) -> Response:
        started = time.perf_counter()
        values = validate(serializers.SearchIn, request.data)
        passages = permitted_queries.search(
            serializers.build_question(values), _build_source_selection(request, values)
        ).passages
        return Response(serializers.search_out(passages, query_text=values["query_text"], time_ms=_elapsed_ms(started)))


class Answer(RetrievalViewSet):
    scopes = {"POST": Scope.QUERY}

    @extend_schema(
        operation_id="retrievalAnswer",
        summary="Answer a question from the data sources",
        description="If the passages are not similar enough, no answer is generated and the most relevant sources are "
        "returned instead.",
        request=answer_serializers.AnswerIn,
        responses={
            200: answer_serializers.AnswerOut,
            (200, "text/event-stream"): described_stream(
                "RetrievalAnswer", sources=answer_serializers.AnswerSources, result=answer_serializers.AnswerOut
            ),
        },
        examples=[
            request_example(examples.ANSWER, "Question"),
            response_example(examples.ANSWERED, "Sufficient context"),
            response_example(examples.INSUFFICIENT, "Insufficient context"),
            response_example(EXAMPLE_STREAM, "Events", media_type="text/event-stream"),
        ],
    )
    def create(self, request: Request) -> HttpResponseBase:
        started = time.perf_counter()
        values = validate(answer_serializers.AnswerIn, request.data)
        generation = GenerationOptions(stream=values["stream"])
        events = permitted_queries.answer_if_confident(
            serializers.build_question(values), _build_source_selection(request, values), generation
        )

        def render_result(answer: ConfidentAnswer) -> answer_serializers.AnswerOut:
            return answer_serializers.answer_out(answer, query_text=values["query_text"], time_ms=_elapsed_ms(started))

        if values["stream"]:
            return stream(
                events,
                render_sources=answer_serializers.sources_out,
                render_result=render_result,
                on_error=self.get_exception_handler(),
            )
        return Response(render_result(permitted_queries.run_to_completion(events)))


def _build_source_selection(request: Request, values: ValidatedFields) -> SourceSelection:
    organization_id = values.get("filters", {}).get("org_id")
    return SourceSelection(
        caller=get_caller(request), organization=organization(request), organization_filter=organization_id
    )


def _elapsed_ms(started: float) -> int:
    return round((time.perf_counter() - started) * 1000)
