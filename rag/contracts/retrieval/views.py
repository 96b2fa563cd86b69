"""Retrieval: POST /api/rag/search with `query_text`, POST /functions/v1/rag-search."""

import time

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from orgs.permissions import Scope
from rag.contracts.base import PostView, caller, organization, validated
from rag.services import queries

from . import errors, serializers


class RetrievalView(PostView):
    error_handler = staticmethod(errors.handle)
    error_body = serializers.RetrievalErrorBody


class Search(RetrievalView):
    scopes = {"POST": Scope.QUERY}

    @extend_schema(request=serializers.RetrievalIn, responses={200: serializers.RetrievalSearchOut})
    def post(self, request: Request) -> Response:
        started = time.perf_counter()
        values = validated(serializers.RetrievalIn, request.data)
        found = queries.search(
            question=serializers.question(values),
            user=caller(request),
            organization=organization(request),
            organization_id=values.get("filters", {}).get("org_id"),
        )
        elapsed = round((time.perf_counter() - started) * 1000)
        return Response(serializers.search_out(found, query_text=values["query_text"], time_ms=elapsed))
