"""The search service: POST /api/v1/search, GET /api/v1/search/{query_id}."""

import uuid

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from orgs.permissions import Scope
from rag.contracts.base import ContractView, caller, organization, validated
from rag.contracts.limits import SERVICE_SEARCHES
from rag.errors import UnknownQuery
from rag.services import history, queries

from . import errors, serializers


class SearchServiceView(ContractView):
    error_handler = staticmethod(errors.handle)
    budget = SERVICE_SEARCHES


class Search(SearchServiceView):
    scopes = {"POST": Scope.QUERY}

    @extend_schema(request=serializers.ServiceSearchIn, responses={200: serializers.ServiceSearchOut})
    def post(self, request: Request) -> Response:
        values = validated(serializers.ServiceSearchIn, request.data)
        reader = queries.Reader(user=caller(request), organization=organization(request))
        searched = history.search(serializers.question(values), reader)
        return Response(serializers.search_out(searched))


class SearchDetails(SearchServiceView):
    scopes = {"GET": Scope.QUERY}
    error_statuses = (*ContractView.error_statuses, 404)

    @extend_schema(responses={200: serializers.ServiceSearchDetailsOut})
    def get(self, request: Request, query_id: str) -> Response:
        try:
            key = uuid.UUID(query_id)
        except ValueError:
            raise UnknownQuery("No search results found with the provided query ID") from None
        searched = history.searched(key, user=caller(request), organization=organization(request))
        return Response(serializers.details_out(searched))
