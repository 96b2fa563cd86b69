"""The pipeline contract: ingestion jobs, data sources, retrieval."""

import uuid

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ViewSetMixin

from accounts.schema import COMMON_STATUSES, answered, sent
from orgs.permissions import Scope
from rag.contracts import pagination
from rag.contracts.base import ContractView, caller, organization, organization_to_write, validated
from rag.errors import InvalidRequest, UnknownJob
from rag.models import Action
from rag.services import ingestion, sources

from . import errors, examples, serializers


class PipelineView(ContractView):
    error_handler = staticmethod(errors.handle)
    error_statuses = (*COMMON_STATUSES, 404)


class IngestionJobs(ViewSetMixin, PipelineView):
    """POST /api/rag/ingest with `documents` → 202; GET /api/rag/ingest/{jobId}."""

    scopes = {"GET": Scope.INGEST, "POST": Scope.INGEST}
    path_names = {"job_id": "jobId"}

    @extend_schema(
        summary="Send many documents as a job",
        description="Answered as soon as the job is stored; workers do the rest.",
        request=serializers.IngestIn,
        responses={202: serializers.JobOut},
        examples=[sent(examples.JOB_REQUEST, "Job"), answered(examples.QUEUED_JOB, "Job", status=202)],
    )
    def create(self, request: Request) -> Response:
        values = validated(serializers.IngestIn, request.data)
        source = sources.to_ingest(caller(request), values["dataSourceId"], organization=organization_to_write(request))
        model = values.get("embeddingModel", source.embedding_model.name)
        if model != source.embedding_model.name:
            raise InvalidRequest(
                f"This source is embedded with {source.embedding_model.name}; leave embeddingModel out, or name it.",
                field="embeddingModel",
            )
        job = ingestion.submit(
            source=source,
            submissions=serializers.submissions(values),
            options=serializers.options(values),
            actor=caller(request),
        )
        return Response(_job(request, job.pk), status=202)

    @extend_schema(
        operation_id="getIngestionJob",
        summary="Watch a job",
        description="For whoever may send documents to the job's source, or manage it.",
        parameters=[OpenApiParameter("jobId", OpenApiTypes.UUID, OpenApiParameter.PATH)],
        responses={200: serializers.JobOut},
        examples=[answered(examples.DONE_JOB, "Job")],
    )
    def retrieve(self, request: Request, job_id: str) -> Response:
        try:
            key = uuid.UUID(job_id)
        except ValueError:
            raise UnknownJob("A job's id is a UUID.") from None
        return Response(_job(request, key))


def _job(request: Request, job_id: uuid.UUID) -> serializers.JobOut:
    job = ingestion.job_visible_to(caller(request), job_id)
    chunks = ingestion.indexed_chunks(job, serializers.MAX_VECTOR_IDS + 1)
    return serializers.job_out(
        job, vector_ids=[str(chunk) for chunk in chunks], errors=ingestion.failures(job, serializers.MAX_ERRORS)
    )


class DataSources(ViewSetMixin, PipelineView):
    """GET /api/rag/sources: those that the caller may query, send to or manage."""

    path_names = {"reference": "id"}

    @extend_schema(
        operation_id="listDataSources",
        summary="List data sources",
        description="Those that the caller may query, send to or manage.",
        parameters=pagination.PARAMETERS,
        responses={200: serializers.SourcesOut},
        examples=[answered({"sources": [examples.SOURCE], "page": 1, "pageSize": 50, "total": 1}, "Sources")],
    )
    def list(self, request: Request) -> Response:
        found = sources.visible(caller(request), Action.VIEW, organization=organization(request))
        page = pagination.page(request, found.select_related("organization", "embedding_model"))
        return Response({"sources": [serializers.source_out(source) for source in page.items], **page.numbers})

    @extend_schema(
        operation_id="getDataSource",
        summary="Show a data source",
        description="By its id, or by its slug.",
        responses={200: serializers.SourceOut},
        examples=[answered(examples.SOURCE, "Source")],
    )
    def retrieve(self, request: Request, reference: str) -> Response:
        found = sources.visible(caller(request), Action.VIEW, organization=organization(request))
        return Response(serializers.source_out(sources.named(found, reference)))
