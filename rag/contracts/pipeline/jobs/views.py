"""The pipeline contract's ingestion jobs (sub-contract 1): /api/rag/ingest and /api/rag/ingest/{jobId}."""

import uuid

from django.http import QueryDict
from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from orgs.access.permissions import Scope
from rag.contracts.common import idempotency, page_or_cursor
from rag.contracts.common.base import (
    CreateViewSet,
    get_caller,
    organization,
    organization_to_write,
    validate,
    validate_query,
)
from rag.contracts.common.idempotency import Created
from rag.contracts.common.rate_limits import INGESTIONS
from rag.contracts.pipeline import examples
from rag.contracts.pipeline.base import PipelineViewSet
from rag.errors import InvalidRequest, UnknownJob
from rag.services.jobs import close_and_cancel, job_lookup, manual_retries
from rag.services.jobs.submit_documents import submit_documents
from rag.services.sources import lookup
from ragsite.http.openapi import request_example, response_example
from ragsite.http.strict_fields import ValidatedFields
from ragsite.postgres.models import as_uuid

from . import document_serializers, job_serializers, submission_serializers

_JOB_ID = [OpenApiParameter("jobId", OpenApiTypes.UUID, OpenApiParameter.PATH)]


class IngestionJobs(PipelineViewSet, CreateViewSet):
    """The collection /api/rag/ingest, which shares its path with v3 (rag.contracts.shared_paths)."""

    scopes = {"GET": Scope.INGEST, "POST": Scope.INGEST}
    error_statuses = (*PipelineViewSet.error_statuses, 415, 507)
    extra_error_statuses = {"create": (409, 422)}

    @extend_schema(
        summary="Create an ingestion job",
        description="With `documents` or files: creates a job and responds once it is stored. Workers then index its "
        "documents.",
        parameters=[idempotency.PARAMETER],
        request={
            "application/json": submission_serializers.IngestIn,
            "multipart/form-data": submission_serializers.UploadIn,
        },
        responses={202: job_serializers.JobOut},
        examples=[
            request_example(examples.JOB_REQUEST, "Job"),
            response_example(examples.QUEUED_JOB, "Job", status=202),
        ],
    )
    def create(self, request: Request) -> HttpResponseBase:
        values = _validate_submission(request)
        source = lookup.get_source_to_ingest(
            get_caller(request), values["dataSourceId"], organization=organization_to_write(request)
        )
        model = values.get("embeddingModel", source.embedding_model.name)
        if model != source.embedding_model.name:
            raise InvalidRequest(
                f"This data source uses the embedding model {source.embedding_model.name}. Omit embeddingModel or send "
                "that name.",
                field="embeddingModel",
            )

        def submit() -> Created:
            job = submit_documents(
                source=source,
                documents=submission_serializers.build_documents(values),
                options=submission_serializers.build_chunking_options(values),
                actor=get_caller(request).authenticated_user,
            )
            return Created(Response(_render_job(request, job.pk), status=202), lambda: source.pk)

        return idempotency.run_once(request, submit)

    @extend_schema(
        operation_id="listIngestionJobs",
        summary="List ingestion jobs",
        description="The jobs of all data sources that the caller may send documents to or manage, newest first. "
        "Filter them by `source` (id or slug) and by `status`.",
        tags=["pipeline"],
        parameters=[job_serializers.JobListIn, *page_or_cursor.PARAMETERS],
        responses={200: job_serializers.JobListOut},
        examples=[response_example({"jobs": [examples.LISTED_JOB], "page": 1, "pageSize": 50, "total": 1}, "Jobs")],
    )
    def list(self, request: Request) -> Response:
        filters = validate_query(request, job_serializers.JobListIn, others=page_or_cursor.PARAMETERS)
        visible_jobs = job_lookup.list_jobs(
            get_caller(request),
            organization=organization(request),
            source_reference=filters.get("source", ""),
            status=filters.get("status", ""),
        )
        page = page_or_cursor.paginate(request, visible_jobs)
        jobs = [job_serializers.listed_job_out(job) for job in job_lookup.add_progress(page.items)]
        return Response({"jobs": jobs, **page.numbers}, headers=page.headers)


class IngestionJobDetail(PipelineViewSet):
    """One job: its progress, its documents, cancelling it and retrying its failed documents."""

    scopes = {"GET": Scope.INGEST, "POST": Scope.INGEST, "DELETE": Scope.INGEST}
    error_statuses = (*PipelineViewSet.error_statuses, 415, 507)
    path_names = {"job_id": "jobId"}
    lookup_url_kwarg = "job_id"
    lookup_value_regex = "[^/]+"

    @extend_schema(
        operation_id="getIngestionJob",
        summary="Show an ingestion job",
        description="The job's status, progress and errors. Requires permission to send documents to the job's data "
        "source or to manage it.",
        parameters=_JOB_ID,
        responses={200: job_serializers.JobOut},
        examples=[response_example(examples.DONE_JOB, "Job")],
    )
    def retrieve(self, request: Request, job_id: str) -> Response:
        return Response(_render_job(request, _parse_job_id(job_id)))

    @extend_schema(
        operation_id="cancelIngestionJob",
        summary="Cancel an ingestion job",
        description="Documents that are already indexed stay. No further one is indexed after this response. "
        "Cancelling a job again changes nothing.",
        parameters=_JOB_ID,
        responses={200: job_serializers.JobOut},
        examples=[response_example(examples.CANCELLED_JOB, "Cancelled")],
    )
    def destroy(self, request: Request, job_id: str) -> Response:
        close_and_cancel.cancel_job(
            get_caller(request), _parse_job_id(job_id), organization=organization_to_write(request)
        )
        return Response(_render_job(request, _parse_job_id(job_id)))

    @extend_schema(
        operation_id="listIngestionJobDocuments",
        summary="List a job's documents",
        description="Status, error and timings of each document, in the order in which they were sent.",
        parameters=[*_JOB_ID, document_serializers.JobDocumentListIn, *page_or_cursor.PARAMETERS],
        responses={200: document_serializers.JobDocumentsOut},
        examples=[
            response_example({"documents": examples.JOB_DOCUMENTS, "page": 1, "pageSize": 50, "total": 2}, "Documents"),
        ],
    )
    @action(detail=True, error_statuses=PipelineViewSet.error_statuses)
    def documents(self, request: Request, job_id: str) -> Response:
        filters = validate_query(request, document_serializers.JobDocumentListIn, others=page_or_cursor.PARAMETERS)
        job_documents = job_lookup.list_documents(
            get_caller(request),
            _parse_job_id(job_id),
            organization=organization(request),
            status=filters.get("status", ""),
        )
        page = page_or_cursor.paginate(request, job_documents)
        rendered = [document_serializers.job_document_out(document) for document in page.items]
        return Response({"documents": rendered, **page.numbers}, headers=page.headers)

    @extend_schema(
        operation_id="retryIngestionJob",
        summary="Retry a job's failed documents",
        description="Requires permission to send documents to the job's data source. The request body is ignored.",
        parameters=_JOB_ID,
        request=None,
        responses={202: job_serializers.JobOut},
        examples=[response_example(examples.RETRIED_JOB, "Job", status=202)],
    )
    @action(
        detail=True,
        methods=["post"],
        rate_limit=INGESTIONS,
        error_statuses=(*PipelineViewSet.error_statuses, 409, 507),
    )
    def retry(self, request: Request, job_id: str) -> Response:
        manual_retries.retry_job(
            get_caller(request), _parse_job_id(job_id), organization=organization_to_write(request)
        )
        return Response(_render_job(request, _parse_job_id(job_id)), status=202)


def _validate_submission(request: Request) -> ValidatedFields:
    if isinstance(request.data, QueryDict):  # a form
        return validate(submission_serializers.UploadIn, submission_serializers.read_form(request))
    return validate(submission_serializers.IngestIn, request.data)


def _parse_job_id(job_id: str) -> uuid.UUID:
    key = as_uuid(job_id)
    if key is None:
        raise UnknownJob("The id of a job is a UUID.")
    return key


def _render_job(request: Request, job_id: uuid.UUID) -> job_serializers.JobOut:
    """Read a job with its chunk ids and failures, and render it."""
    job = job_lookup.get_job(get_caller(request), job_id, organization=organization(request))
    chunks = job_lookup.list_chunk_ids(job, job_serializers.MAX_VECTOR_IDS + 1)
    return job_serializers.job_out(
        job,
        vector_ids=[str(chunk) for chunk in chunks],
        errors=[
            {
                "index": document.index,
                "path": document.path,
                "code": document.error_code,
                "message": document.error_message,
            }
            for document in job_lookup.list_failures(job, job_serializers.MAX_ERRORS)
        ],
    )
