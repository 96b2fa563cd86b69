"""The v3 contract: POST /api/rag/ingest with one document, POST /api/rag/search with `query`, POST /api/chat."""

from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from orgs.access.permissions import Scope
from rag.contracts.common import idempotency
from rag.contracts.common.base import CreateViewSet, get_caller, organization, organization_to_write, validate
from rag.contracts.common.idempotency import Created
from rag.contracts.common.rate_limits import QUERIES
from rag.contracts.common.streaming import EXAMPLE_STREAM, described_stream, stream
from rag.models import DataSource
from rag.services.ingestion import synchronous_ingestion
from rag.services.queries import chat_replies, permitted_queries
from rag.services.queries.source_selection import SourceSelection
from rag.services.sources import creation
from ragsite.http.openapi import COMMON_STATUSES, request_example, response_example
from ragsite.http.strict_fields import ValidatedFields

from . import chat_serializers, error_format, examples, serializers


class V3ViewSet(CreateViewSet):
    error_handler = staticmethod(error_format.handle_exception)


class Ingest(V3ViewSet):
    scopes = {"POST": Scope.INGEST}
    error_statuses = (*COMMON_STATUSES, 422, 507)
    extra_error_statuses = {"create": (409,)}

    @extend_schema(
        operation_id="v3Ingest",
        summary="Ingest one document",
        description="With `text`: ingests one document, which is searchable once this responds.",
        parameters=[idempotency.PARAMETER],
        request=serializers.IngestIn,
        responses={200: serializers.IngestOut},
        examples=[request_example(examples.DOCUMENT, "Document"), response_example(examples.INGESTED, "Document")],
    )
    def create(self, request: Request) -> Response:
        values = validate(serializers.IngestIn, request.data)
        caller = get_caller(request)

        def find_source() -> DataSource:
            organization = organization_to_write(request)
            return creation.get_or_build_source(caller, values["source"], organization=organization)

        def ingest() -> Created:
            submission = serializers.build_submission(values)
            outcome = synchronous_ingestion.ingest_now(source=find_source(), submission=submission, caller=caller)
            # Another request may have created the source meanwhile, with another id: look it up again.
            return Created(Response(serializers.ingest_out(outcome)), lambda: find_source().pk)

        return idempotency.run_once(request, ingest)


class Search(V3ViewSet):
    rate_limit = QUERIES
    scopes = {"POST": Scope.QUERY}

    @extend_schema(
        operation_id="v3Search",
        summary="Search passages",
        description="With `query`: the passages most similar to it, by descending cosine similarity.",
        request=serializers.SearchIn,
        responses={200: serializers.SearchOut},
        examples=[request_example(examples.SEARCH, "Search"), response_example(examples.PASSAGES, "Passages")],
    )
    def create(self, request: Request) -> Response:
        values = validate(serializers.SearchIn, request.data)
        passages = permitted_queries.search(
            serializers.build_question(values), _build_source_selection(request, values.get("filters", {}))
        ).passages
        return Response(serializers.search_out(passages, query=values["query"]))


class Chat(V3ViewSet):
    error_statuses = (*COMMON_STATUSES, 404)
    rate_limit = QUERIES
    scopes = {"POST": Scope.QUERY}

    @extend_schema(
        operation_id="v3Chat",
        summary="Chat, optionally with retrieved context",
        description="With `useRag` the language model answers from retrieved passages. Without it the language model "
        "answers alone; 503 if none is configured.",
        request=chat_serializers.ChatIn,
        responses={
            200: chat_serializers.ChatOut,
            (200, "text/event-stream"): described_stream(
                "V3Chat", sources=chat_serializers.ChatSources, result=chat_serializers.ChatOut
            ),
        },
        examples=[
            request_example(examples.CHAT, "Question"),
            response_example(examples.CHAT_REPLY, "Reply"),
            response_example(EXAMPLE_STREAM, "Events", media_type="text/event-stream"),
        ],
    )
    def create(self, request: Request) -> HttpResponseBase:
        values = validate(chat_serializers.ChatIn, request.data)
        events = chat_replies.chat(
            chat_serializers.build_turn(values), _build_source_selection(request, values.get("ragFilters", {}))
        )
        if values["stream"]:
            return stream(
                events,
                render_sources=chat_serializers.sources_out,
                render_result=chat_serializers.chat_out,
                on_error=self.get_exception_handler(),
            )
        return Response(chat_serializers.chat_out(permitted_queries.run_to_completion(events)))


def _build_source_selection(request: Request, filters: ValidatedFields) -> SourceSelection:
    return SourceSelection(
        caller=get_caller(request), organization=organization(request), slug_filter=filters.get("source", "")
    )
