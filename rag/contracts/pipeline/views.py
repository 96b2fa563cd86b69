"""The pipeline contract: ingestion jobs and data sources."""

import uuid
from collections.abc import Iterable
from typing import Any

from django.http import QueryDict
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ViewSetMixin

from accounts.schema import COMMON_STATUSES, answered, sent
from orgs.permissions import Scope
from rag.contracts import pagination
from rag.contracts.base import ContractView, caller, has_scope, organization, organization_to_write, validated
from rag.errors import InvalidRequest, UnknownJob
from rag.models import DataSource
from rag.services import deletion, jobs, source_settings, sources
from rag.services.source_settings import AccessLists
from ragsite.db import as_uuid

from . import errors, examples, job_serializers, source_serializers

_JOB_ID = [OpenApiParameter("jobId", OpenApiTypes.UUID, OpenApiParameter.PATH)]


class PipelineView(ContractView):
    error_handler = staticmethod(errors.handle)
    error_statuses: tuple[int, ...] = (*COMMON_STATUSES, 404)


class IngestionJobs(ViewSetMixin, PipelineView):
    """POST /api/rag/ingest with `documents` or files → 202; GET and DELETE /api/rag/ingest/{jobId}."""

    scopes = {"GET": Scope.INGEST, "POST": Scope.INGEST, "DELETE": Scope.INGEST}
    error_statuses = (*PipelineView.error_statuses, 415, 507)
    path_names = {"job_id": "jobId"}

    @extend_schema(
        summary="Send many documents as a job",
        description="Answered as soon as the job is stored; workers do the rest.",
        request={"application/json": job_serializers.IngestIn, "multipart/form-data": job_serializers.UploadIn},
        responses={202: job_serializers.JobOut},
        examples=[sent(examples.JOB_REQUEST, "Job"), answered(examples.QUEUED_JOB, "Job", status=202)],
    )
    def create(self, request: Request) -> Response:
        values = _submitted(request)
        source = sources.to_ingest(caller(request), values["dataSourceId"], organization=organization_to_write(request))
        model = values.get("embeddingModel", source.embedding_model.name)
        if model != source.embedding_model.name:
            raise InvalidRequest(
                f"This source is embedded with {source.embedding_model.name}; leave embeddingModel out, or name it.",
                field="embeddingModel",
            )
        job = jobs.submit(
            source=source,
            submissions=job_serializers.submissions(values),
            options=job_serializers.options(values),
            actor=caller(request),
        )
        return Response(_job(request, job.pk), status=202)

    @extend_schema(
        operation_id="getIngestionJob",
        summary="Watch a job",
        description="For whoever may send documents to the job's source, or manage it.",
        parameters=_JOB_ID,
        responses={200: job_serializers.JobOut},
        examples=[answered(examples.DONE_JOB, "Job")],
    )
    def retrieve(self, request: Request, job_id: str) -> Response:
        return Response(_job(request, _key(job_id)))

    @extend_schema(
        operation_id="cancelIngestionJob",
        summary="Cancel a job",
        description="What was indexed stays; nothing is indexed after the answer. A second time changes nothing.",
        parameters=_JOB_ID,
        responses={200: job_serializers.JobOut},
        examples=[answered(examples.CANCELLED_JOB, "Cancelled")],
    )
    def destroy(self, request: Request, job_id: str) -> Response:
        jobs.cancel(caller(request), _key(job_id), organization=organization_to_write(request))
        return Response(_job(request, _key(job_id)))


def _submitted(request: Request) -> dict[str, Any]:
    if isinstance(request.data, QueryDict):  # a form
        return validated(job_serializers.UploadIn, job_serializers.upload(request))
    return validated(job_serializers.IngestIn, request.data)


def _key(job_id: str) -> uuid.UUID:
    key = as_uuid(job_id)
    if key is None:
        raise UnknownJob("A job's id is a UUID.")
    return key


def _job(request: Request, job_id: uuid.UUID) -> job_serializers.JobOut:
    job = jobs.job_visible_to(caller(request), job_id, organization=organization(request))
    chunks = jobs.indexed_chunks(job, job_serializers.MAX_VECTOR_IDS + 1)
    return job_serializers.job_out(
        job,
        vector_ids=[str(chunk) for chunk in chunks],
        errors=[
            {"index": row.index, "path": row.path, "code": row.error_code, "message": row.error_message}
            for row in jobs.failures(job, job_serializers.MAX_ERRORS)
        ],
    )


class DataSources(ViewSetMixin, PipelineView):
    """/api/rag/sources: those that the caller may query, send to or manage; making, changing and deleting them."""

    scopes = {"POST": Scope.MANAGE, "PATCH": Scope.MANAGE, "DELETE": Scope.MANAGE}
    path_names = {"reference": "id"}

    @extend_schema(
        operation_id="listDataSources",
        summary="List data sources",
        description="Those that the caller may query, send to or manage.",
        parameters=[source_serializers.SourceListIn, *pagination.PARAMETERS],
        responses={200: source_serializers.SourceListOut},
        examples=[answered({"sources": [examples.SOURCE], "page": 1, "pageSize": 50, "total": 1}, "Sources")],
    )
    def list(self, request: Request) -> Response:
        wanted = validated(source_serializers.SourceListIn, request.query_params.dict())
        found = sources.listed(
            caller(request),
            organization=organization(request),
            also_in=wanted.get("organization", ""),
            search=wanted.get("search", ""),
            visibility=wanted.get("visibility", ""),
            source_type=wanted.get("sourceType", ""),
        )
        page = pagination.page(request, found)
        lists = _access_lists(request, page.items)
        shown = [source_serializers.source_out(source, lists.get(source.pk)) for source in page.items]
        return Response({"sources": shown, **page.numbers})

    @extend_schema(
        operation_id="createDataSource",
        summary="Make a data source",
        description="For whoever has the permission sources.create.",
        request=source_serializers.SourceIn,
        responses={201: source_serializers.SourceOut},
        examples=[sent(examples.NEW_SOURCE, "Source"), answered(examples.MANAGED_SOURCE, "Source", status=201)],
    )
    def create(self, request: Request) -> Response:
        wanted = source_serializers.source_settings(validated(source_serializers.SourceIn, request.data))
        source = source_settings.create(caller(request), wanted, organization=organization_to_write(request))
        return Response(_source(request, source), status=201)

    @extend_schema(
        operation_id="getDataSource",
        summary="Show a data source",
        description="By its id, or by its slug.",
        responses={200: source_serializers.SourceOut},
        examples=[answered(examples.SOURCE, "Source")],
    )
    def retrieve(self, request: Request, reference: str) -> Response:
        found = sources.listed(caller(request), organization=organization(request))
        return Response(_source(request, sources.named(found, reference)))

    @extend_schema(
        operation_id="changeDataSource",
        summary="Change a data source",
        description="What is left out stays as it is. For whoever may manage the source.",
        request=source_serializers.SourceChangeIn,
        responses={200: source_serializers.SourceOut},
        examples=[sent({"visibility": "team", "teams": ["support"]}, "Source"), answered(examples.MANAGED_SOURCE)],
    )
    def partial_update(self, request: Request, reference: str) -> Response:
        wanted = source_serializers.source_settings(validated(source_serializers.SourceChangeIn, request.data))
        source = source_settings.change(caller(request), reference, wanted, organization=organization_to_write(request))
        return Response(_source(request, source))

    @extend_schema(
        operation_id="deleteDataSource",
        summary="Delete a data source",
        description="Nothing of it is found any more when this answers; a worker removes its rows.",
        responses={204: None},
    )
    def destroy(self, request: Request, reference: str) -> Response:
        deletion.delete(caller(request), reference, organization=organization_to_write(request))
        return Response(status=204)


def _source(request: Request, source: DataSource) -> source_serializers.SourceOut:
    return source_serializers.source_out(source, _access_lists(request, [source]).get(source.pk))


def _access_lists(request: Request, shown: Iterable[DataSource]) -> dict[uuid.UUID, AccessLists]:
    """None to a key that may not manage: who a source is open to is for those who could change it."""
    return source_settings.access_lists(caller(request), shown) if has_scope(request, Scope.MANAGE) else {}
