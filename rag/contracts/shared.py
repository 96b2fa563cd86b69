"""The two paths that two contracts claim (docs/contracts.md)."""

from typing import Any

from django.http import QueryDict
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.parsers import BoundedJSONParser, BoundedMultipartParser
from orgs.permissions import Scope

from .base import PostView, SharedPath
from .pipeline import views as pipeline
from .v3 import views as v3


class IngestJob(pipeline.IngestionJobs, PostView):
    """The job-making half of the viewset, as a plain view."""

    def post(self, request: Request) -> Response:
        return self.create(request)


class Ingest(SharedPath):
    """`documents`, or a form with files → pipeline; anything else → v3."""

    adapter = v3.Ingest
    scopes = {"POST": Scope.INGEST}
    parser_classes = (BoundedJSONParser, BoundedMultipartParser)

    def choose(self, body: Any) -> type[PostView]:
        if isinstance(body, QueryDict):  # a form
            return IngestJob
        if isinstance(body, dict) and "documents" in body:
            if "text" in body:
                raise ValidationError({"documents": "send either text (one document) or documents (a job), not both"})
            return IngestJob
        return v3.Ingest
