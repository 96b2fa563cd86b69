from .content import index_outbox, pgvector_tables  # noqa: F401  # registers the stores' tables, which only they use
from .content.chunks import Chunk
from .content.documents import Document
from .content.originals import Original
from .embedding_models import EmbeddingModel
from .evaluation.calibration import Calibration
from .evaluation.golden_questions import GoldenQuestion, QualityRun
from .evaluation.unanswered_questions import UnansweredQuestion
from .grants import Grant
from .idempotency import IdempotentRequest
from .ingestion.fairness import IngestionFairness
from .ingestion.jobs import Condition, IngestionDocument, IngestionJob
from .ingestion.model_outages import ModelOutage
from .ingestion.syncs import SyncConnection, SyncInterval, SyncItem, SyncKind, SyncRun
from .ingestion.usage import Usage
from .operations import Measurement, RecordedError, ScheduledTaskRun, SlowOperation, WorkerHeartbeat
from .reembedding import Reembedding
from .search.conversations import Conversation, ConversationMessage
from .search.stored_searches import HistoryUsage, SearchRecord
from .sources import Action, DataSource, SourceType
from .webhooks import Webhook, WebhookDelivery, WebhookEvent

__all__ = [
    "Action",
    "Calibration",
    "Chunk",
    "Condition",
    "Conversation",
    "ConversationMessage",
    "DataSource",
    "Document",
    "EmbeddingModel",
    "GoldenQuestion",
    "Grant",
    "HistoryUsage",
    "IdempotentRequest",
    "IngestionDocument",
    "IngestionFairness",
    "IngestionJob",
    "Measurement",
    "ModelOutage",
    "Original",
    "QualityRun",
    "RecordedError",
    "Reembedding",
    "ScheduledTaskRun",
    "SearchRecord",
    "SlowOperation",
    "SourceType",
    "SyncConnection",
    "SyncInterval",
    "SyncItem",
    "SyncKind",
    "SyncRun",
    "UnansweredQuestion",
    "Usage",
    "Webhook",
    "WebhookDelivery",
    "WebhookEvent",
    "WorkerHeartbeat",
]
