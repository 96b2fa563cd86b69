"""The pipeline contract's data sources: /api/rag/sources."""

import uuid
from collections.abc import Iterable

from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from orgs.access.permissions import Scope
from rag.contracts.common import etags, idempotency, page_or_cursor
from rag.contracts.common.base import (
    get_caller,
    has_scope,
    organization,
    organization_to_write,
    validate,
    validate_query,
)
from rag.contracts.common.idempotency import Created
from rag.contracts.pipeline import examples
from rag.contracts.pipeline.base import PipelineViewSet
from rag.models import DataSource
from rag.services.access import explain_access
from rag.services.sources import creation, deletion, editing, grants_by_name, lookup
from rag.services.sources.grants_by_name import GrantsByName
from ragsite.http.openapi import request_example, response_example

from . import serializers
from .access_explanation_serializers import AccessIn, AccessOut, access_out


class DataSources(PipelineViewSet):
    """List, create, show, change and delete data sources; explain who may use one."""

    scopes = {"POST": Scope.MANAGE, "PATCH": Scope.MANAGE, "DELETE": Scope.MANAGE}
    extra_error_statuses = {"create": (409, 422), "partial_update": (409, 412), "destroy": (412,)}
    path_names = {"reference": "id"}
    lookup_url_kwarg = "reference"
    lookup_value_regex = "[^/]+"

    @extend_schema(
        operation_id="listDataSources",
        summary="List data sources",
        description="The data sources that the caller may query, send documents to or manage.",
        parameters=[serializers.SourceListIn, *page_or_cursor.PARAMETERS],
        responses={200: serializers.SourceListOut},
        examples=[response_example({"sources": [examples.SOURCE], "page": 1, "pageSize": 50, "total": 1}, "Sources")],
    )
    def list(self, request: Request) -> Response:
        filters = validate_query(request, serializers.SourceListIn, others=page_or_cursor.PARAMETERS)
        queryset = lookup.list_sources(
            get_caller(request),
            organization=organization(request),
            organization_filter=filters.get("organization", ""),
            search=filters.get("search", ""),
            visibility=filters.get("visibility", ""),
            source_type=filters.get("sourceType", ""),
        )
        page = page_or_cursor.paginate(request, queryset, read=lookup.read_page)
        grants = _read_grants(request, page.items)
        sources = [serializers.source_out(source, grants.get(source.pk)) for source in page.items]
        return Response({"sources": sources, **page.numbers}, headers=page.headers)

    @extend_schema(
        operation_id="createDataSource",
        summary="Create a data source",
        description="Requires the permission sources.create.",
        parameters=[idempotency.PARAMETER, etags.ETAG],
        request=serializers.SourceIn,
        responses={201: serializers.SourceOut},
        examples=[
            request_example(examples.NEW_SOURCE, "Source"),
            response_example(examples.MANAGED_SOURCE, "Source", status=201),
        ],
    )
    def create(self, request: Request) -> Response:
        settings = serializers.build_source_settings(validate(serializers.SourceIn, request.data))

        def create() -> Created:
            source = creation.create_source(get_caller(request), settings, organization=organization_to_write(request))
            response = Response(_render_source(request, source), status=201, headers=etags.etag(source))
            return Created(response, lambda: source.pk)

        return idempotency.run_once(request, create)

    @extend_schema(
        operation_id="getDataSource",
        summary="Show a data source",
        description="By id or by slug.",
        responses={200: serializers.SourceOut},
        examples=[response_example(examples.SOURCE, "Source")],
    )
    def retrieve(self, request: Request, reference: str) -> Response:
        queryset = lookup.list_sources(get_caller(request), organization=organization(request))
        source = lookup.get_source(queryset, reference)
        return Response(_render_source(request, source), headers=etags.etag(source))

    @extend_schema(
        operation_id="changeDataSource",
        summary="Change a data source",
        description="Fields that are not sent keep their values. Requires permission to manage the data source: "
        "sources.manage, or being its owner. `owner` transfers it to another active member.",
        parameters=[etags.IF_MATCH, etags.ETAG],
        request=serializers.SourceChangeIn,
        responses={200: serializers.SourceOut},
        examples=[
            request_example({"visibility": "team", "teams": ["support"]}, "Source"),
            response_example(examples.MANAGED_SOURCE),
        ],
    )
    def partial_update(self, request: Request, reference: str) -> Response:
        settings = serializers.build_source_settings(validate(serializers.SourceChangeIn, request.data))
        source = editing.update_source(
            get_caller(request),
            reference,
            settings,
            organization=organization_to_write(request),
            expected_versions=etags.expected_versions(request),
        )
        return Response(_render_source(request, source), headers=etags.etag(source))

    @extend_schema(
        operation_id="deleteDataSource",
        summary="Delete a data source",
        description="Searches no longer find its documents once this responds. A worker then removes the rows.",
        parameters=[etags.IF_MATCH],
        responses={204: None},
    )
    def destroy(self, request: Request, reference: str) -> Response:
        deletion.delete_by_reference(
            get_caller(request),
            reference,
            organization=organization_to_write(request),
            expected_versions=etags.expected_versions(request),
        )
        return Response(status=204)

    @extend_schema(
        operation_id="explainAccess",
        summary="Explain a user's access to a data source",
        description="Says for each action whether the user is allowed it, and why. Requires permission to manage the "
        "data source. The response for a user outside its organisation does not reveal whether they have an account.",
        parameters=[AccessIn],
        responses={200: AccessOut},
        examples=[response_example(examples.ACCESS, "Access")],
    )
    @action(detail=True, scopes={"GET": Scope.MANAGE})
    def access(self, request: Request, reference: str) -> Response:
        source = lookup.get_source_to_manage(
            get_caller(request), reference, organization=organization(request), denied_message=lookup.MAY_NOT_EXPLAIN
        )
        person_reference = validate_query(request, AccessIn)["user"]
        person = explain_access.find_person(person_reference, [source.organization_id], caller=get_caller(request))
        return Response(access_out(source, person_reference, explain_access.explain_access(source, person)))


def _render_source(request: Request, source: DataSource) -> serializers.SourceOut:
    return serializers.source_out(source, _read_grants(request, [source]).get(source.pk))


def _read_grants(request: Request, sources: Iterable[DataSource]) -> dict[uuid.UUID, GrantsByName]:
    """Return who may query each source; empty for an API key without the scope `manage`."""
    return grants_by_name.get_grants_by_name(get_caller(request), sources) if has_scope(request, Scope.MANAGE) else {}
