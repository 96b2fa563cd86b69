"""The two paths that two contracts claim (docs/contracts.md)."""

from typing import Any

from django.http import QueryDict
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from orgs.access.permissions import Scope
from ragsite.http.openapi import answered
from ragsite.http.parsers import BoundedJSONParser, BoundedMultipartParser

from .common import pagination
from .common.base import ErrorHandler, PostView, SharedPath
from .common.rate_limits import INGESTIONS, QUERIES
from .pipeline import examples
from .pipeline.jobs import job_serializers
from .pipeline.jobs.views import IngestionJobs
from .retrieval import views as retrieval
from .v3 import views as v3


class IngestJob(IngestionJobs, PostView):
    """The job-making half of the viewset, as a plain view."""

    post = IngestionJobs.create


class Ingest(SharedPath):
    """`documents`, or a form with files → pipeline; anything else → v3. GET, the list of jobs, is pipeline's alone."""

    adapter = v3.Ingest
    adapters = (v3.Ingest, IngestJob)
    operation_id = "ingestDocumentOrJob"
    scopes = {"GET": Scope.INGEST, "POST": Scope.INGEST}
    budget = INGESTIONS
    parser_classes = (BoundedJSONParser, BoundedMultipartParser)

    @extend_schema(
        operation_id="listIngestionJobs",
        summary="List jobs",
        description="Those that the caller may watch, newest first; of one source (its id or slug), of one status.",
        tags=["pipeline"],
        parameters=[job_serializers.JobListIn, *pagination.PARAMETERS],
        responses={200: job_serializers.JobListOut},
        examples=[answered({"jobs": [examples.LISTED_JOB], "page": 1, "pageSize": 50, "total": 1}, "Jobs")],
    )
    def get(self, request: Request) -> Response:
        return IngestionJobs().list(request)

    def get_exception_handler(self) -> ErrorHandler:
        listing = self.request.method in ("GET", "HEAD")
        return IngestionJobs.error_handler if listing else super().get_exception_handler()

    def choose(self, body: Any) -> type[PostView]:
        if isinstance(body, QueryDict):  # a form
            return IngestJob
        if isinstance(body, dict) and "documents" in body:
            if "text" in body:
                raise ValidationError({"documents": "send either text (one document) or documents (a job), not both"})
            return IngestJob
        return v3.Ingest


class Search(SharedPath):
    """`query_text` → retrieval; anything else → v3."""

    adapter = v3.Search
    adapters = (v3.Search, retrieval.Search)
    operation_id = "search"
    budget = QUERIES
    scopes = {"POST": Scope.QUERY}

    def choose(self, body: Any) -> type[PostView]:
        if isinstance(body, dict) and "query_text" in body:
            if "query" in body:
                raise ValidationError({"query_text": "send either query or query_text, not both"})
            return retrieval.Search
        return v3.Search
