"""The pipeline contract: ingestion jobs, data sources, retrieval."""

import uuid
from typing import Any

from django.http import QueryDict
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ViewSetMixin

from accounts.schema import COMMON_STATUSES
from orgs.permissions import Scope
from rag.contracts import pagination
from rag.contracts.base import ContractView, caller, organization, organization_to_write, validated
from rag.errors import InvalidRequest, NoResults, UnknownJob
from rag.models import DataSource
from rag.services import deletion, jobs, queries, source_settings, sources

from . import errors, job_serializers, serializers, source_serializers


class PipelineView(ContractView):
    error_handler = staticmethod(errors.handle)
    error_statuses: tuple[int, ...] = (*COMMON_STATUSES, 404)


class IngestionJobs(ViewSetMixin, PipelineView):
    """POST /api/rag/ingest with `documents` or files → 202; GET and DELETE /api/rag/ingest/{jobId}."""

    scopes = {"GET": Scope.INGEST, "POST": Scope.INGEST, "DELETE": Scope.INGEST}
    error_statuses = (*PipelineView.error_statuses, 415, 507)

    @extend_schema(
        request={"application/json": job_serializers.IngestIn, "multipart/form-data": job_serializers.UploadIn},
        responses={202: job_serializers.JobOut},
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

    @extend_schema(request=None, responses={200: job_serializers.JobOut})
    def retrieve(self, request: Request, job_id: str) -> Response:
        return Response(_job(request, _key(job_id)))

    @extend_schema(request=None, responses={200: job_serializers.JobOut})
    def destroy(self, request: Request, job_id: str) -> Response:
        jobs.cancel(caller(request), _key(job_id))
        return Response(_job(request, _key(job_id)))


def _submitted(request: Request) -> dict[str, Any]:
    if isinstance(request.data, QueryDict):  # a form
        return validated(job_serializers.UploadIn, job_serializers.upload(request))
    return validated(job_serializers.IngestIn, request.data)


def _key(job_id: str) -> uuid.UUID:
    try:
        return uuid.UUID(job_id)
    except ValueError:
        raise UnknownJob("A job's id is a UUID.") from None


def _job(request: Request, job_id: uuid.UUID) -> job_serializers.JobOut:
    job = jobs.job_visible_to(caller(request), job_id)
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

    @extend_schema(
        request=None,
        parameters=[
            source_serializers.SourceListIn,
            OpenApiParameter("page", int),
            OpenApiParameter("pageSize", int),
        ],
        responses={200: source_serializers.SourceListOut},
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
        lists = source_settings.access_lists(caller(request), page.items)
        shown = [source_serializers.source_out(source, lists.get(source.pk)) for source in page.items]
        return Response({"sources": shown, **page.numbers})

    @extend_schema(request=source_serializers.SourceIn, responses={201: source_serializers.SourceOut})
    def create(self, request: Request) -> Response:
        wanted = source_serializers.source_settings(validated(source_serializers.SourceIn, request.data))
        source = source_settings.create(caller(request), wanted, organization=organization_to_write(request))
        return Response(_source(request, source), status=201)

    @extend_schema(request=None, responses={200: source_serializers.SourceOut})
    def retrieve(self, request: Request, reference: str) -> Response:
        found = sources.listed(caller(request), organization=organization(request))
        return Response(_source(request, sources.named(found, reference)))

    @extend_schema(request=source_serializers.SourceChangeIn, responses={200: source_serializers.SourceOut})
    def partial_update(self, request: Request, reference: str) -> Response:
        wanted = source_serializers.source_settings(validated(source_serializers.SourceChangeIn, request.data))
        source = source_settings.change(caller(request), reference, wanted, organization=organization_to_write(request))
        return Response(_source(request, source))

    @extend_schema(request=None, responses={204: None})
    def destroy(self, request: Request, reference: str) -> Response:
        deletion.delete(caller(request), reference, organization=organization_to_write(request))
        return Response(status=204)


def _source(request: Request, source: DataSource) -> source_serializers.SourceOut:
    lists = source_settings.access_lists(caller(request), [source])
    return source_serializers.source_out(source, lists.get(source.pk))


class Retrieve(PipelineView):
    """POST /api/rag/retrieve."""

    scopes = {"POST": Scope.QUERY}

    @extend_schema(request=serializers.RetrieveIn, responses={200: serializers.RetrievalOut})
    def post(self, request: Request) -> Response:
        values = validated(serializers.RetrieveIn, request.data)
        if values.get("rerankModel"):
            raise InvalidRequest("No reranker of this name is configured; leave rerankModel out.", field="rerankModel")
        found = queries.retrieve(
            question=serializers.question(values),
            user=caller(request),
            organization=organization(request),
            data_sources=values.get("dataSources", ()),
        )
        if not found.passages:
            raise NoResults("Nothing relevant was found in the data sources that you may query.")
        return Response(serializers.retrieval_out(found))
