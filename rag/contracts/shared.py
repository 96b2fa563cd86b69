"""The two paths that two contracts claim (docs/contracts.md)."""

from typing import Any

from rest_framework.exceptions import ValidationError

from orgs.permissions import Scope

from .base import PostView, SharedPath
from .pipeline import views as pipeline
from .v3 import views as v3


class IngestJob(pipeline.IngestionJobs, PostView):
    """The job-making half of the viewset, as a plain view."""

    post = pipeline.IngestionJobs.create


class Ingest(SharedPath):
    """`documents` → pipeline; anything else → v3."""

    adapter = v3.Ingest
    adapters = (v3.Ingest, IngestJob)
    operation_id = "ingestDocumentOrJob"
    scopes = {"POST": Scope.INGEST}

    def choose(self, body: Any) -> type[PostView]:
        if isinstance(body, dict) and "documents" in body:
            if "text" in body:
                raise ValidationError({"documents": "send either text (one document) or documents (a job), not both"})
            return IngestJob
        return v3.Ingest
