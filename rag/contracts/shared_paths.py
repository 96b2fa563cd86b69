"""The two paths that two contracts define (docs/contracts/README.md)."""

from django.http import QueryDict
from rest_framework.exceptions import ValidationError

from orgs.access.permissions import Scope
from ragsite.http.bodies.parsers import BoundedJSONParser, BoundedMultipartParser
from ragsite.http.openapi import COMMON_STATUSES

from .common.base import CreateViewSet, SharedPathViewSet
from .common.error_rendering import ErrorHandler
from .common.rate_limits import INGESTIONS, QUERIES
from .pipeline.jobs.views import IngestionJobs
from .retrieval import views as retrieval
from .v3 import views as v3

_MISSING_DOCUMENTS = (
    "documents is required with dataSourceId: an array with an object for each document. To ingest one document while "
    "you wait, send source, path, title and text instead of dataSourceId"
)


class SubmissionFormParser(BoundedMultipartParser):
    """Parses a form of files. `documents` has the attributes of all of them."""

    long_fields = frozenset({"documents"})


class Ingest(SharedPathViewSet, IngestionJobs):
    """A body with `documents` or a form with files: pipeline; any other body: v3. GET lists the pipeline's jobs."""

    adapter = v3.Ingest
    adapters = (v3.Ingest, IngestionJobs)
    operation_id = "ingestDocumentOrJob"
    scopes = {"GET": Scope.INGEST, "POST": Scope.INGEST}
    error_statuses = COMMON_STATUSES
    extra_error_statuses = {}
    rate_limit = INGESTIONS
    parser_classes = (BoundedJSONParser, SubmissionFormParser)

    def get_exception_handler(self) -> ErrorHandler:
        # Only the pipeline's contract has forms, including those that cannot be read.
        is_form = self.request.content_type.startswith("multipart/form-data")
        return IngestionJobs.error_handler if is_form or self.action == "list" else super().get_exception_handler()

    def select_adapter(self, body: object) -> type[CreateViewSet]:
        if isinstance(body, QueryDict):  # a form
            return IngestionJobs
        if isinstance(body, dict) and "documents" in body:
            if "text" in body:
                raise ValidationError({"documents": "send either text (one document) or documents (a job), not both"})
            return IngestionJobs
        if isinstance(body, dict) and "dataSourceId" in body and "source" not in body:
            raise ValidationError({"documents": _MISSING_DOCUMENTS})
        return v3.Ingest


class Search(SharedPathViewSet):
    """A body with `query_text`: retrieval; any other body: v3."""

    adapter = v3.Search
    adapters = (v3.Search, retrieval.Search)
    operation_id = "search"
    rate_limit = QUERIES
    scopes = {"POST": Scope.QUERY}

    def select_adapter(self, body: object) -> type[CreateViewSet]:
        if isinstance(body, dict) and "query_text" in body:
            if "query" in body:
                raise ValidationError({"query_text": "send either query or query_text, not both"})
            return retrieval.Search
        return v3.Search
