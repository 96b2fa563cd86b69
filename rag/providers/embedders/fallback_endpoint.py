"""A second endpoint for the same model (v3 contract, section 4: "Fallback"), so that vectors stay comparable."""

from collections.abc import Sequence

import structlog

from rag.errors import EmbeddingFailed
from rag.providers.base import Embedder, Vectors

logger = structlog.get_logger(__name__)


class FallbackEmbedder:
    """Embeds with the first embedder, or with the second one if the first fails."""

    def __init__(self, first: Embedder, second: Embedder) -> None:
        """Combine two embedders, which must embed with the same model."""
        self.dimensions = first.dimensions
        self.batch_size = first.batch_size
        self._first = first
        self._second = second

    def embed(self, texts: Sequence[str]) -> Vectors:
        try:
            return self._first.embed(texts)
        except EmbeddingFailed as error:
            logger.warning("embedding_fallback", reason=error.message)
            return self._second.embed(texts)
