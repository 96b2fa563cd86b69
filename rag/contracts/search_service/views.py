"""The search service: POST /api/v1/search, GET /api/v1/search/{query_id}."""

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from orgs.access.permissions import Scope
from rag.contracts.common.base import ContractViewSet, get_caller, organization, validated
from rag.contracts.common.rate_limits import SERVICE_SEARCHES
from rag.errors import UnknownQuery
from rag.services.search import history, queries
from ragsite.http.openapi import answered, sent
from ragsite.postgres.models import as_uuid

from . import errors, examples, serializers


class Searches(ContractViewSet):
    """Searches whose results the service stores, and their results."""

    error_handler = staticmethod(errors.handle)
    rate_limit = SERVICE_SEARCHES
    scopes = {"POST": Scope.QUERY, "GET": Scope.QUERY}
    extra_error_statuses = {"retrieve": (404,)}
    lookup_url_kwarg = "query_id"
    lookup_value_regex = "[^/]+"

    @extend_schema(
        operation_id="searchServiceSearch",
        summary="Search, and keep the result",
        description="Ordered by cosine similarity; only from sources that the caller may query.",
        request=serializers.SearchIn,
        responses={200: serializers.SearchOut},
        examples=[sent(examples.SEARCH, "Search"), answered(examples.FOUND, "Results")],
    )
    def create(self, request: Request) -> Response:
        values = validated(serializers.SearchIn, request.data)
        reader = queries.SourceSelection(caller=get_caller(request), organization=organization(request))
        searched = history.search(serializers.question(values), reader)
        return Response(serializers.search_out(searched))

    @extend_schema(
        operation_id="searchServiceSearchDetails",
        summary="Show a search's result again",
        description="For whoever searched: those of its results that they may still read.",
        parameters=[OpenApiParameter("query_id", OpenApiTypes.UUID, OpenApiParameter.PATH)],
        responses={200: serializers.SearchDetailsOut},
        examples=[answered(examples.DETAILS, "Results")],
    )
    def retrieve(self, request: Request, query_id: str) -> Response:
        key = as_uuid(query_id)
        if key is None:
            raise UnknownQuery
        searched = history.get_search(key, caller=get_caller(request), organization=organization(request))
        return Response(serializers.details_out(searched))
