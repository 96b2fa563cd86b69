from .content.chunks import (
    EMBEDDING_TABLES,
    Chunk,
    Embedding384,
    Embedding768,
    Embedding1536,
    Embedding3072,
    PieceBits,
)
from .content.documents import Document
from .content.originals import Original
from .content.terms import ChunkTerms, SourceConfig, SourceTerm
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
