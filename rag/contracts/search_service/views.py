"""The search service: POST /api/v1/search, GET /api/v1/search/{query_id}."""

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from orgs.access.permissions import Scope
from rag.contracts.common.base import ContractView, caller, key_of, organization, validated
from rag.contracts.common.rate_limits import SERVICE_SEARCHES
from rag.errors import UnknownQuery
from rag.services.search import history, queries
from ragsite.http.openapi import answered, sent
from ragsite.postgres.models import as_uuid

from . import errors, examples, serializers


class SearchServiceView(ContractView):
    error_handler = staticmethod(errors.handle)
    budget = SERVICE_SEARCHES


class Search(SearchServiceView):
    scopes = {"POST": Scope.QUERY}

    @extend_schema(
        summary="Search, and keep the result",
        description="Ordered by cosine similarity; only from sources that the caller may query.",
        request=serializers.SearchIn,
        responses={200: serializers.SearchOut},
        examples=[sent(examples.SEARCH, "Search"), answered(examples.FOUND, "Results")],
    )
    def post(self, request: Request) -> Response:
        values = validated(serializers.SearchIn, request.data)
        reader = queries.Reader(user=caller(request), key=key_of(request), organization=organization(request))
        searched = history.search(serializers.question(values), reader)
        return Response(serializers.search_out(searched))


class SearchDetails(SearchServiceView):
    scopes = {"GET": Scope.QUERY}
    error_statuses = (*ContractView.error_statuses, 404)

    @extend_schema(
        operation_id="searchServiceSearchDetails",
        summary="Show a search's result again",
        description="For whoever searched: those of its results that they may still read.",
        parameters=[OpenApiParameter("query_id", OpenApiTypes.UUID, OpenApiParameter.PATH)],
        responses={200: serializers.SearchDetailsOut},
        examples=[answered(examples.DETAILS, "Results")],
    )
    def get(self, request: Request, query_id: str) -> Response:
        key = as_uuid(query_id)
        if key is None:
            raise UnknownQuery
        searched = history.searched(key, user=caller(request), organization=organization(request))
        return Response(serializers.details_out(searched))
