"""Every path of the contracts, with and without a trailing slash."""

from .agent.views import Agent
from .common import field_schemas as _  # noqa: F401  # registers our fields with the OpenAPI generator
from .common.routers import ContractRouter
from .mcp.views import Mcp
from .openai_api.views import ChatCompletions, Embeddings, Models
from .pipeline.documents.views import Documents
from .pipeline.jobs.views import IngestionJobDetail
from .pipeline.queries.views import Queries
from .pipeline.sources.views import DataSources
from .pipeline.webhooks.views import Webhooks
from .retrieval import views as retrieval
from .search_service.views import Searches
from .shared_paths import Ingest, Search
from .v3.views import Chat

router = ContractRouter()
router.register("api/rag/ingest", Ingest, basename="ingest")
router.register("api/rag/ingest", IngestionJobDetail, basename="ingestion-job")
router.register("api/rag/search", Search, basename="search")
router.register("api/rag/sources", DataSources, basename="source")
router.register("api/rag/sources/(?P<reference>[^/]+)/documents", Documents, basename="document")
router.register("api/rag/webhooks", Webhooks, basename="webhook")
router.register("api/rag", Queries, basename="query")
router.register("api/chat", Chat, basename="chat")
router.register("api/rag/answer", retrieval.Answer, basename="answer")
router.register("functions/v1/rag-answer", retrieval.Answer, basename="function-answer")
router.register("functions/v1/rag-search", retrieval.Search, basename="function-search")
router.register("api/v1/search", Searches, basename="service-search")
router.register("mcp", Mcp, basename="mcp")
router.register("v1/models", Models, basename="model")
router.register("v1/chat/completions", ChatCompletions, basename="chat-completion")
router.register("v1/embeddings", Embeddings, basename="embedding")
router.register("agent", Agent, basename="agent")

urlpatterns = router.urls
