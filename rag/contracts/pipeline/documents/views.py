"""The documents of a data source: /api/rag/sources/{id}/documents (an addition to the pipeline contract)."""

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from orgs.access.permissions import Scope
from rag.contracts.common import etags, page_or_cursor
from rag.contracts.common.base import get_caller, organization, organization_to_write, validate_query
from rag.contracts.pipeline import examples
from rag.contracts.pipeline.base import PipelineViewSet
from rag.services.sources import documents, lookup
from ragsite.http.openapi import response_example
from ragsite.postgres.models import as_uuid

from . import serializers

_DOCUMENT_ID = [OpenApiParameter("documentId", OpenApiTypes.UUID, OpenApiParameter.PATH)]


class Documents(PipelineViewSet):
    """List documents, show one, delete one by its id or by its path."""

    scopes = {"DELETE": Scope.INGEST}
    extra_error_statuses = {"destroy": (412,), "destroy_by_path": (412,)}
    path_names = {"reference": "id", "document_id": "documentId"}
    lookup_url_kwarg = "document_id"
    lookup_value_regex = "[^/]+"

    @extend_schema(
        operation_id="listDocuments",
        summary="List a data source's documents",
        description="Ordered by path. Requires permission to query the data source, to send documents to it or to "
        "manage it.",
        parameters=[serializers.DocumentListIn, *page_or_cursor.PARAMETERS],
        responses={200: serializers.DocumentListOut},
        examples=[
            response_example({"documents": [examples.DOCUMENT], "page": 1, "pageSize": 50, "total": 1}, "Documents")
        ],
    )
    def list(self, request: Request, reference: str) -> Response:
        filters = validate_query(request, serializers.DocumentListIn, others=page_or_cursor.PARAMETERS)
        with lookup.hint_sources([reference]):
            queryset = documents.list_documents(
                get_caller(request),
                reference,
                organization=organization(request),
                search=filters.get("q", ""),
                lang=filters.get("lang", ""),
                tag=filters.get("tag", ""),
                source_type=filters.get("type", ""),
            )
            page = page_or_cursor.paginate(request, queryset)
        rendered = [serializers.document_out(document) for document in page.items]
        return Response({"documents": rendered, **page.numbers}, headers=page.headers)

    @extend_schema(
        operation_id="getDocument",
        summary="Show a document's fields",
        description="Without its text, which only searches return.",
        parameters=_DOCUMENT_ID,
        responses={200: serializers.DocumentOut},
        examples=[response_example(examples.DOCUMENT, "Document")],
    )
    def retrieve(self, request: Request, reference: str, document_id: str) -> Response:
        key = as_uuid(document_id)
        with lookup.hint_sources([reference]):
            queryset = documents.list_documents(get_caller(request), reference, organization=organization(request))
            document = documents.get_document(queryset, document_id=key)
        return Response(serializers.document_out(document), headers=etags.etag(document))

    @extend_schema(
        operation_id="deleteDocument",
        summary="Delete a document",
        description="Searches no longer find the document once this responds. A worker then removes its rows. Requires "
        "permission to send documents to the data source or to manage it.",
        parameters=[*_DOCUMENT_ID, etags.IF_MATCH],
        responses={204: None},
    )
    def destroy(self, request: Request, reference: str, document_id: str) -> Response:
        documents.delete_by_reference(
            get_caller(request),
            reference,
            document_id=as_uuid(document_id),
            organization=organization_to_write(request),
            expected_versions=etags.expected_versions(request),
        )
        return Response(status=204)

    @extend_schema(
        operation_id="deleteDocumentByPath",
        summary="Delete a document by its path",
        description="Like deleting by id. Documents with the same path in other data sources are not affected.",
        parameters=[serializers.DocumentPathIn, etags.IF_MATCH],
        responses={204: None},
    )
    def destroy_by_path(self, request: Request, reference: str) -> Response:
        path = validate_query(request, serializers.DocumentPathIn)["path"]
        documents.delete_by_reference(
            get_caller(request),
            reference,
            path=path,
            organization=organization_to_write(request),
            expected_versions=etags.expected_versions(request),
        )
        return Response(status=204)
