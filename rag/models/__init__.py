from .chunks import EMBEDDING_TABLES, Chunk, Embedding384, Embedding768, Embedding1536, Embedding3072
from .conversations import Conversation, ConversationMessage
from .documents import Document
from .embedding_models import EmbeddingModel
from .golden import GoldenQuestion, QualityRun
from .history import SearchRecord
from .jobs import IngestionDocument, IngestionJob
from .originals import Original
from .reembedding import Reembedding
from .sources import Action, DataSource, Grant, SourceType

__all__ = [
    "EMBEDDING_TABLES",
    "Action",
    "Chunk",
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
    "Original",
    "QualityRun",
    "Reembedding",
    "SearchRecord",
    "SourceType",
]
