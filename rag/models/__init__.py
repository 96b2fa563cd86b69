from .calibration import Calibration
from .chunks import EMBEDDING_TABLES, Chunk, Embedding384, Embedding768, Embedding1536, Embedding3072, PieceBits
from .conversations import Conversation, ConversationMessage
from .dispatch import IngestionTurn, ModelOutage
from .documents import Document
from .embedding_models import EmbeddingModel
from .golden import GoldenQuestion, QualityRun
from .history import SearchRecord
from .jobs import Condition, IngestionDocument, IngestionJob
from .originals import Original
from .reembedding import Reembedding
from .sources import Action, DataSource, Grant, SourceType
from .usage import Usage
from .words import ChunkTerms, SourceConfig, SourceTerm

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
