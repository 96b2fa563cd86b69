"""The two paths that two contracts claim (docs/contracts.md)."""

from typing import Any

from django.http import QueryDict
from rest_framework.exceptions import ValidationError

from accounts.parsers import BoundedJSONParser, BoundedMultipartParser
from orgs.permissions import Scope

from .base import PostView, SharedPath
from .limits import INGESTIONS, QUERIES
from .pipeline.job_views import IngestionJobs
from .retrieval import views as retrieval
from .v3 import views as v3


class IngestJob(IngestionJobs, PostView):
    """The job-making half of the viewset, as a plain view."""

    post = IngestionJobs.create


class Ingest(SharedPath):
    """`documents`, or a form with files → pipeline; anything else → v3."""

    adapter = v3.Ingest
    adapters = (v3.Ingest, IngestJob)
    operation_id = "ingestDocumentOrJob"
    scopes = {"POST": Scope.INGEST}
    budget = INGESTIONS
    parser_classes = (BoundedJSONParser, BoundedMultipartParser)

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
