"""Every path of the contracts, with and without a trailing slash."""

from django.urls import re_path

from .agent import views as agent
from .pipeline import views as pipeline
from .pipeline.query import Query
from .pipeline.retrieve import Retrieve
from .shared import Ingest
from .v3 import views as v3
from .v3.chat import Chat

urlpatterns = [
    re_path(r"^api/rag/ingest/?$", Ingest.as_view(), name="ingest"),
    re_path(r"^api/rag/ingest/(?P<job_id>[^/]+)/?$", pipeline.IngestionJobs.as_view({"get": "retrieve"}), name="job"),
    re_path(r"^api/rag/search/?$", v3.Search.as_view(), name="search"),
    re_path(r"^api/rag/sources/?$", pipeline.DataSources.as_view({"get": "list"}), name="sources"),
    re_path(
        r"^api/rag/sources/(?P<reference>[^/]+)/?$", pipeline.DataSources.as_view({"get": "retrieve"}), name="source"
    ),
    re_path(r"^api/rag/retrieve/?$", Retrieve.as_view(), name="retrieve"),
    re_path(r"^api/rag/query/?$", Query.as_view(), name="query"),
    re_path(r"^api/chat/?$", Chat.as_view(), name="chat"),
    re_path(r"^agent/respond/?$", agent.Respond.as_view(), name="agent-respond"),
    re_path(r"^agent/health/?$", agent.Health.as_view(), name="agent-health"),
]
