"""Every path of the contracts, with and without a trailing slash."""

from django.urls import re_path

from .agent import views as agent
from .common import openapi as _  # noqa: F401  # tells the OpenAPI generator about our fields
from .pipeline.access.views import Explain, SourceAccess
from .pipeline.documents.views import Documents
from .pipeline.jobs.views import IngestionJobDocuments, IngestionJobRetry, IngestionJobs
from .pipeline.queries.views import Query, Retrieve
from .pipeline.sources.views import DataSources
from .retrieval import views as retrieval
from .search_service import views as search_service
from .shared_paths import Ingest, Search
from .v3.views import Chat

job = IngestionJobs.as_view({"get": "retrieve", "delete": "destroy"})
sources = DataSources.as_view({"get": "list", "post": "create"})
source = DataSources.as_view({"get": "retrieve", "patch": "partial_update", "delete": "destroy"})
documents = Documents.as_view({"get": "list", "delete": "destroy_by_path"})
document = Documents.as_view({"get": "retrieve", "delete": "destroy"})

urlpatterns = [
    re_path(r"^api/rag/ingest/?$", Ingest.as_view(), name="ingest"),
    re_path(r"^api/rag/ingest/(?P<job_id>[^/]+)/?$", job, name="job"),
    re_path(r"^api/rag/ingest/(?P<job_id>[^/]+)/documents/?$", IngestionJobDocuments.as_view(), name="job-documents"),
    re_path(r"^api/rag/ingest/(?P<job_id>[^/]+)/retry/?$", IngestionJobRetry.as_view(), name="job-retry"),
    re_path(r"^api/rag/search/?$", Search.as_view(), name="search"),
    re_path(r"^api/rag/sources/?$", sources, name="sources"),
    re_path(r"^api/rag/sources/(?P<reference>[^/]+)/?$", source, name="source"),
    re_path(r"^api/rag/sources/(?P<reference>[^/]+)/access/?$", SourceAccess.as_view(), name="source-access"),
    re_path(r"^api/rag/sources/(?P<reference>[^/]+)/documents/?$", documents, name="documents"),
    re_path(r"^api/rag/sources/(?P<reference>[^/]+)/documents/(?P<document_id>[^/]+)/?$", document, name="document"),
    re_path(r"^api/rag/explain/?$", Explain.as_view(), name="explain"),
    re_path(r"^api/rag/retrieve/?$", Retrieve.as_view(), name="retrieve"),
    re_path(r"^api/rag/query/?$", Query.as_view(), name="query"),
    re_path(r"^api/chat/?$", Chat.as_view(), name="chat"),
    re_path(r"^functions/v1/rag-search/?$", retrieval.Search.as_view(), name="function-search"),
    re_path(r"^api/rag/answer/?$", retrieval.Answer.as_view(), name="answer"),
    re_path(r"^functions/v1/rag-answer/?$", retrieval.Answer.as_view(), name="function-answer"),
    re_path(r"^api/v1/search/?$", search_service.Search.as_view(), name="service-search"),
    re_path(
        r"^api/v1/search/(?P<query_id>[^/]+)/?$", search_service.SearchDetails.as_view(), name="service-search-details"
    ),
    re_path(r"^agent/respond/?$", agent.Respond.as_view(), name="agent-respond"),
    re_path(r"^agent/health/?$", agent.Health.as_view(), name="agent-health"),
]
