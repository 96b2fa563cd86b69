"""v3: POST /api/rag/ingest with one document, POST /api/rag/search with `query`, POST /api/chat."""

from typing import Any

from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from orgs.access.permissions import Scope
from rag.contracts.common.base import CreateViewSet, get_caller, organization, organization_to_write, validated
from rag.contracts.common.rate_limits import QUERIES
from rag.contracts.common.streaming import EVENTS, StreamEvent, stream
from rag.services.ingestion import synchronous
from rag.services.search import conversations, queries
from rag.services.sources import lookup
from ragsite.http.openapi import COMMON_STATUSES, answered, sent

from . import chat_serializers, errors, examples, serializers


class V3ViewSet(CreateViewSet):
    error_handler = staticmethod(errors.handle)


class Ingest(V3ViewSet):
    scopes = {"POST": Scope.INGEST}
    error_statuses = (*COMMON_STATUSES, 422, 507)

    @extend_schema(
        operation_id="v3Ingest",
        summary="Send one document and wait",
        description="The document is searchable when this answers.",
        request=serializers.IngestIn,
        responses={200: serializers.IngestOut},
        examples=[sent(examples.DOCUMENT, "Document"), answered(examples.INGESTED, "Document")],
    )
    def create(self, request: Request) -> Response:
        values = validated(serializers.IngestIn, request.data)
        source = lookup.get_or_build_source(
            get_caller(request), values["source"], organization=organization_to_write(request)
        )
        outcome = synchronous.ingest_now(source=source, submission=serializers.submission(values))
        return Response(serializers.ingest_out(outcome))


class Search(V3ViewSet):
    rate_limit = QUERIES
    scopes = {"POST": Scope.QUERY}

    @extend_schema(
        operation_id="v3Search",
        summary="Search passages",
        description="The passages that are most similar to the query, by descending cosine similarity.",
        request=serializers.SearchIn,
        responses={200: serializers.SearchOut},
        examples=[sent(examples.SEARCH, "Search"), answered(examples.FOUND, "Passages")],
    )
    def create(self, request: Request) -> Response:
        values = validated(serializers.SearchIn, request.data)
        found = queries.search(serializers.question(values), _reader(request, values.get("filters", {}))).passages
        return Response(serializers.search_out(found, query=values["query"]))


class Chat(V3ViewSet):
    error_statuses = (*COMMON_STATUSES, 404)
    rate_limit = QUERIES
    scopes = {"POST": Scope.QUERY}

    @extend_schema(
        operation_id="v3Chat",
        summary="Chat, with retrieved context where asked for",
        description="Without `useRag` the language model answers alone, and none being configured is a 503.",
        request=chat_serializers.ChatIn,
        responses={200: chat_serializers.ChatOut, (200, "text/event-stream"): StreamEvent},
        examples=[
            sent(examples.CHAT, "Question"),
            answered(examples.CHAT_REPLY, "Reply"),
            answered(EVENTS, "Events", media_type="text/event-stream"),
        ],
    )
    def create(self, request: Request) -> HttpResponseBase:
        values = validated(chat_serializers.ChatIn, request.data)
        events = conversations.chat(chat_serializers.turn(values), _reader(request, values.get("ragFilters", {})))
        if values["stream"]:
            return stream(
                events,
                sources=chat_serializers.sources_out,
                done=chat_serializers.chat_out,
                on_error=type(self).error_handler,
            )
        return Response(chat_serializers.chat_out(queries.run_to_completion(events)))


def _reader(request: Request, filters: dict[str, Any]) -> queries.SourceSelection:
    return queries.SourceSelection(
        caller=get_caller(request), organization=organization(request), slug=filters.get("source", "")
    )
