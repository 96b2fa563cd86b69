"""Every path of the contracts, with and without a trailing slash."""

from django.urls import re_path

from .pipeline import views as pipeline
from .shared import Ingest
from .v3 import views as v3

job = pipeline.IngestionJobs.as_view({"get": "retrieve", "delete": "destroy"})
sources = pipeline.DataSources.as_view({"get": "list", "post": "create"})
source = pipeline.DataSources.as_view({"get": "retrieve", "patch": "partial_update", "delete": "destroy"})

urlpatterns = [
    re_path(r"^api/rag/ingest/?$", Ingest.as_view(), name="ingest"),
    re_path(r"^api/rag/ingest/(?P<job_id>[^/]+)/?$", job, name="job"),
    re_path(r"^api/rag/search/?$", v3.Search.as_view(), name="search"),
    re_path(r"^api/rag/sources/?$", sources, name="sources"),
    re_path(r"^api/rag/sources/(?P<reference>[^/]+)/?$", source, name="source"),
    re_path(r"^api/rag/retrieve/?$", pipeline.Retrieve.as_view(), name="retrieve"),
]
