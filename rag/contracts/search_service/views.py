"""The search service: POST /api/v1/search, GET /api/v1/search/{query_id}."""

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from orgs.access.permissions import Scope
from rag.contracts.common.base import ContractViewSet, get_caller, organization, validate
from rag.contracts.common.rate_limits import SERVICE_SEARCHES
from rag.errors import UnknownQuery
from rag.services.queries.history import stored_searches
from rag.services.queries.source_selection import SourceSelection
from ragsite.http.openapi import request_example, response_example
from ragsite.postgres.models import as_uuid

from . import error_format, examples, serializers


class Searches(ContractViewSet):
    """Search, and show the stored results of a search."""

    error_handler = staticmethod(error_format.handle_exception)
    rate_limit = SERVICE_SEARCHES
    scopes = {"POST": Scope.QUERY, "GET": Scope.QUERY}
    extra_error_statuses = {"retrieve": (404,)}
    lookup_url_kwarg = "query_id"
    lookup_value_regex = "[^/]+"

    @extend_schema(
        operation_id="searchServiceSearch",
        summary="Search and store the results",
        description="The chunks most similar to the query by cosine similarity, from data sources that the caller may "
        "query. The results can be fetched again by `query_id`.",
        request=serializers.SearchIn,
        responses={200: serializers.SearchOut},
        examples=[request_example(examples.SEARCH, "Search"), response_example(examples.RESULTS, "Results")],
    )
    def create(self, request: Request) -> Response:
        values = validate(serializers.SearchIn, request.data)
        selection = SourceSelection(caller=get_caller(request), organization=organization(request))
        search = stored_searches.search(serializers.build_question(values), selection)
        return Response(serializers.search_out(search))

    @extend_schema(
        operation_id="searchServiceSearchDetails",
        summary="Show the results of an earlier search",
        description="Only for the user who searched: the results that they may still read.",
        parameters=[OpenApiParameter("query_id", OpenApiTypes.UUID, OpenApiParameter.PATH)],
        responses={200: serializers.SearchDetailsOut},
        examples=[response_example(examples.DETAILS, "Results")],
    )
    def retrieve(self, request: Request, query_id: str) -> Response:
        key = as_uuid(query_id)
        if key is None:
            raise UnknownQuery
        search = stored_searches.get_search(key, caller=get_caller(request), organization=organization(request))
        return Response(serializers.details_out(search))
