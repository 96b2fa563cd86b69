"""Retrieval: POST /api/rag/search with `query_text` and POST /api/rag/answer, both at /functions/v1 as well."""

import time
from typing import Any

from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from orgs.access.permissions import Scope
from rag.contracts.common.base import CreateViewSet, get_caller, organization, validated
from rag.contracts.common.rate_limits import QUERIES
from rag.contracts.common.streaming import EVENTS, StreamEvent, stream
from rag.services.search import queries
from rag.types import ConfidentAnswer, GenerationOptions
from ragsite.http.openapi import answered, sent

from . import answer_serializers, errors, examples, serializers


class RetrievalViewSet(CreateViewSet):
    error_handler = staticmethod(errors.handle)
    error_body = serializers.RetrievalError
    rate_limit = QUERIES


class Search(RetrievalViewSet):
    scopes = {"POST": Scope.QUERY}

    @extend_schema(
        operation_id="retrievalSearch",
        summary="Find chunks by meaning",
        description="Ordered by cosine similarity; only from sources that the caller may query.",
        request=serializers.SearchIn,
        responses={200: serializers.SearchOut},
        examples=[sent(examples.SEARCH, "Search"), answered(examples.FOUND, "Chunks")],
    )
    def create(self, request: Request) -> Response:
        started = time.perf_counter()
        values = validated(serializers.SearchIn, request.data)
        found = queries.search(serializers.question(values), _reader(request, values)).passages
        return Response(serializers.search_out(found, query_text=values["query_text"], time_ms=_elapsed(started)))


class Answer(RetrievalViewSet):
    scopes = {"POST": Scope.QUERY}

    @extend_schema(
        operation_id="retrievalAnswer",
        summary="Answer from the sources",
        description="Without enough context nothing is generated, and the nearest sources are given instead.",
        request=answer_serializers.AnswerIn,
        responses={200: answer_serializers.AnswerOut, (200, "text/event-stream"): StreamEvent},
        examples=[
            sent(examples.ANSWER, "Question"),
            answered(examples.ANSWERED, "Sufficient context"),
            answered(examples.INSUFFICIENT, "Insufficient context"),
            answered(EVENTS, "Events", media_type="text/event-stream"),
        ],
    )
    def create(self, request: Request) -> HttpResponseBase:
        started = time.perf_counter()
        values = validated(answer_serializers.AnswerIn, request.data)
        generation = GenerationOptions(stream=values["stream"])
        events = queries.answer_if_confident(serializers.question(values), _reader(request, values), generation)

        def done(answer: ConfidentAnswer) -> answer_serializers.AnswerOut:
            return answer_serializers.answer_out(answer, query_text=values["query_text"], time_ms=_elapsed(started))

        if values["stream"]:
            return stream(events, sources=answer_serializers.sources_out, done=done, on_error=type(self).error_handler)
        return Response(done(queries.run_to_completion(events)))


def _reader(request: Request, values: dict[str, Any]) -> queries.SourceSelection:
    chosen = values.get("filters", {}).get("org_id")
    return queries.SourceSelection(
        caller=get_caller(request), organization=organization(request), organization_id=chosen
    )


def _elapsed(started: float) -> int:
    """Milliseconds."""
    return round((time.perf_counter() - started) * 1000)
