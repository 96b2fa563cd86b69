"""The pipeline contract's data sources: /api/rag/sources."""

import uuid
from collections.abc import Iterable

from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from orgs.access.permissions import Scope
from rag.contracts.common import pagination
from rag.contracts.common.base import get_caller, has_scope, organization, organization_to_write, validated
from rag.contracts.pipeline import examples
from rag.contracts.pipeline.base import PipelineViewSet
from rag.models import DataSource
from rag.services.access import explain
from rag.services.sources import deletion, editing, lookup
from rag.services.sources.editing import AccessLists
from ragsite.http.openapi import answered, sent

from . import serializers
from .access_serializers import AccessIn, AccessOut, access_out


class DataSources(PipelineViewSet):
    """/api/rag/sources: those that the caller may query, send to or manage; making, changing and deleting them."""

    scopes = {"POST": Scope.MANAGE, "PATCH": Scope.MANAGE, "DELETE": Scope.MANAGE}
    path_names = {"reference": "id"}
    lookup_url_kwarg = "reference"
    lookup_value_regex = "[^/]+"

    @extend_schema(
        operation_id="listDataSources",
        summary="List data sources",
        description="Those that the caller may query, send to or manage.",
        parameters=[serializers.SourceListIn, *pagination.PARAMETERS],
        responses={200: serializers.SourceListOut},
        examples=[answered({"sources": [examples.SOURCE], "page": 1, "pageSize": 50, "total": 1}, "Sources")],
    )
    def list(self, request: Request) -> Response:
        wanted = validated(serializers.SourceListIn, request.query_params.dict())
        found = lookup.list_sources(
            get_caller(request),
            organization=organization(request),
            also_in=wanted.get("organization", ""),
            search=wanted.get("search", ""),
            visibility=wanted.get("visibility", ""),
            source_type=wanted.get("sourceType", ""),
        )
        page = pagination.page(request, found)
        lists = _access_lists(request, page.items)
        shown = [serializers.source_out(source, lists.get(source.pk)) for source in page.items]
        return Response({"sources": shown, **page.numbers})

    @extend_schema(
        operation_id="createDataSource",
        summary="Make a data source",
        description="For whoever has the permission sources.create.",
        request=serializers.SourceIn,
        responses={201: serializers.SourceOut},
        examples=[sent(examples.NEW_SOURCE, "Source"), answered(examples.MANAGED_SOURCE, "Source", status=201)],
    )
    def create(self, request: Request) -> Response:
        wanted = serializers.source_settings(validated(serializers.SourceIn, request.data))
        source = editing.create_source(get_caller(request), wanted, organization=organization_to_write(request))
        return Response(_source(request, source), status=201)

    @extend_schema(
        operation_id="getDataSource",
        summary="Show a data source",
        description="By its id, or by its slug.",
        responses={200: serializers.SourceOut},
        examples=[answered(examples.SOURCE, "Source")],
    )
    def retrieve(self, request: Request, reference: str) -> Response:
        found = lookup.list_sources(get_caller(request), organization=organization(request))
        return Response(_source(request, lookup.get_source(found, reference)))

    @extend_schema(
        operation_id="changeDataSource",
        summary="Change a data source",
        description="What is left out stays as it is. For whoever may manage the source.",
        request=serializers.SourceChangeIn,
        responses={200: serializers.SourceOut},
        examples=[sent({"visibility": "team", "teams": ["support"]}, "Source"), answered(examples.MANAGED_SOURCE)],
    )
    def partial_update(self, request: Request, reference: str) -> Response:
        wanted = serializers.source_settings(validated(serializers.SourceChangeIn, request.data))
        source = editing.update_source(
            get_caller(request), reference, wanted, organization=organization_to_write(request)
        )
        return Response(_source(request, source))

    @extend_schema(
        operation_id="deleteDataSource",
        summary="Delete a data source",
        description="Nothing of it is found any more when this answers; a worker removes its rows.",
        responses={204: None},
    )
    def destroy(self, request: Request, reference: str) -> Response:
        deletion.delete_by_reference(get_caller(request), reference, organization=organization_to_write(request))
        return Response(status=204)

    @extend_schema(
        operation_id="explainAccess",
        summary="Why somebody may use a data source, or may not",
        description="For whoever may manage the source. A person who is not a member of its organisation is answered "
        "alike, whether or not there is an account.",
        parameters=[AccessIn],
        responses={200: AccessOut},
        examples=[answered(examples.ACCESS, "Access")],
    )
    @action(detail=True, scopes={"GET": Scope.MANAGE})
    def access(self, request: Request, reference: str) -> Response:
        source = lookup.get_source_to_manage(
            get_caller(request), reference, organization=organization(request), refusal=lookup.MAY_NOT_EXPLAIN
        )
        asked = validated(AccessIn, request.query_params.dict())["user"]
        person = explain.person(asked, [source.organization_id], asker=get_caller(request))
        return Response(access_out(source, asked, explain.explain(source, person)))


def _source(request: Request, source: DataSource) -> serializers.SourceOut:
    return serializers.source_out(source, _access_lists(request, [source]).get(source.pk))


def _access_lists(request: Request, shown: Iterable[DataSource]) -> dict[uuid.UUID, AccessLists]:
    """None to a key that may not manage: who a source is open to is for those who could change it."""
    return editing.get_access_lists(get_caller(request), shown) if has_scope(request, Scope.MANAGE) else {}
