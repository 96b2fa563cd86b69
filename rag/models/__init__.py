from .content.chunks import Chunk
from .content.documents import Document
from .content.index_tables import (
    EMBEDDING_TABLES,
    ChunkTerms,
    Embedding384,
    Embedding768,
    Embedding1536,
    Embedding3072,
    PieceBits,
    SourceConfig,
    SourceTerm,
)
from .content.originals import Original
from .embedding_models import EmbeddingModel
from .evaluation.calibration import Calibration
from .evaluation.golden_questions import GoldenQuestion, QualityRun
from .ingestion.dispatch import IngestionTurn, ModelOutage
from .ingestion.jobs import Condition, IngestionDocument, IngestionJob
from .ingestion.usage import Usage
from .reembedding import Reembedding
from .search.conversations import Conversation, ConversationMessage
from .search.history import SearchRecord
from .sources import Action, DataSource, Grant, SourceType

__all__ = [
    "EMBEDDING_TABLES",
    "Action",
    "Calibration",
    "Chunk",
    "ChunkTerms",
    "Condition",
    "Conversation",
    "ConversationMessage",
    "DataSource",
    "Document",
    "Embedding384",
    "Embedding768",
    "Embedding1536",
    "Embedding3072",
    "EmbeddingModel",
    "GoldenQuestion",
    "Grant",
    "IngestionDocument",
    "IngestionJob",
    "IngestionTurn",
    "ModelOutage",
    "Original",
    "PieceBits",
    "QualityRun",
    "Reembedding",
    "SearchRecord",
    "SourceConfig",
    "SourceTerm",
    "SourceType",
    "Usage",
]
