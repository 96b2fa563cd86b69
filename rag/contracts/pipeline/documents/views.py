"""A data source's documents, beside the pipeline contract: /api/rag/sources/{id}/documents."""

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from orgs.access.permissions import Scope
from rag.contracts.common import pagination
from rag.contracts.common.base import get_caller, organization, organization_to_write, validated
from rag.contracts.pipeline import examples
from rag.contracts.pipeline.base import PipelineViewSet
from rag.services.sources import documents
from ragsite.http.openapi import answered
from ragsite.postgres.models import as_uuid

from . import serializers

_DOCUMENT_ID = [OpenApiParameter("documentId", OpenApiTypes.UUID, OpenApiParameter.PATH)]


class Documents(PipelineViewSet):
    """Listing them, showing one, deleting one by its id or its path."""

    scopes = {"DELETE": Scope.INGEST}
    path_names = {"reference": "id", "document_id": "documentId"}
    lookup_url_kwarg = "document_id"
    lookup_value_regex = "[^/]+"

    @extend_schema(
        operation_id="listDocuments",
        summary="List a data source's documents",
        description="By path; for whoever may query the source, send documents to it or manage it.",
        parameters=[serializers.DocumentListIn, *pagination.PARAMETERS],
        responses={200: serializers.DocumentListOut},
        examples=[answered({"documents": [examples.DOCUMENT], "page": 1, "pageSize": 50, "total": 1}, "Documents")],
    )
    def list(self, request: Request, reference: str) -> Response:
        wanted = validated(serializers.DocumentListIn, request.query_params.dict())
        found = documents.list_documents(
            get_caller(request),
            reference,
            organization=organization(request),
            search=wanted.get("q", ""),
            lang=wanted.get("lang", ""),
            tag=wanted.get("tag", ""),
            source_type=wanted.get("type", ""),
        )
        page = pagination.page(request, found)
        shown = [serializers.document_out(document) for document in page.items]
        return Response({"documents": shown, **page.numbers})

    @extend_schema(
        operation_id="getDocument",
        summary="Show a document's fields",
        description="Without its text, which is what searches are for.",
        parameters=_DOCUMENT_ID,
        responses={200: serializers.DocumentOut},
        examples=[answered(examples.DOCUMENT, "Document")],
    )
    def retrieve(self, request: Request, reference: str, document_id: str) -> Response:
        key = as_uuid(document_id)
        found = documents.list_documents(get_caller(request), reference, organization=organization(request))
        return Response(serializers.document_out(documents.get_document(found, document_id=key)))

    @extend_schema(
        operation_id="deleteDocument",
        summary="Delete a document",
        description="Nothing of it is found any more when this answers; a worker removes its rows. For whoever may "
        "send documents to the source, or manage it.",
        parameters=_DOCUMENT_ID,
        responses={204: None},
    )
    def destroy(self, request: Request, reference: str, document_id: str) -> Response:
        home = organization_to_write(request)
        documents.delete_by_reference(
            get_caller(request), reference, document_id=as_uuid(document_id), organization=home
        )
        return Response(status=204)

    @extend_schema(
        operation_id="deleteDocumentByPath",
        summary="Delete the document of a path",
        description="As by its id. Of other sources' documents of this path nothing changes.",
        parameters=[serializers.DocumentPathIn],
        responses={204: None},
    )
    def destroy_by_path(self, request: Request, reference: str) -> Response:
        path = validated(serializers.DocumentPathIn, request.query_params.dict())["path"]
        documents.delete_by_reference(
            get_caller(request), reference, path=path, organization=organization_to_write(request)
        )
        return Response(status=204)
