"""What a provider must be able to do. Each translates foreign exceptions into RagErrors at its own edge."""

import uuid
from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rag.models import Document
from rag.types import ChunkDraft, Hit, Message, Passage, Scope

Vectors = NDArray[np.float32]


class Embedder(Protocol):
    """Turns texts into vectors.

    dimensions: length of a vector. batch_size: how many texts a call does well to carry.
    """

    dimensions: int
    batch_size: int

    def embed(self, texts: Sequence[str]) -> Vectors:
        """float32 (len(texts), dimensions), each row of length 1, in the order of the texts.

        Every text counts whole, however long. Raises EmbeddingFailed.
        """
        ...


class VectorStore(Protocol):
    """Keeps the chunks of documents and finds the nearest.

    Writes take part in the caller's transaction: remove and add in one, and readers see old or new, never a mixture.
    """

    def remove(self, document: Document) -> None:
        """The document has no chunks any more."""
        ...

    def add(
        self, document: Document, *, model_id: uuid.UUID, chunks: Sequence[ChunkDraft], vectors: Vectors
    ) -> list[uuid.UUID]:
        """The document, which has none, gets these chunks; their ids in order. vectors: float32 (n, dimensions)."""
        ...

    def refresh_filters(self, document: Document) -> None:
        """The document's type, language, tags or date changed; its chunks did not."""
        ...

    def search(self, vector: Vectors, scope: Scope, k: int) -> list[Hit]:
        """The k nearest chunks of the scope, best first, fewer only if the scope holds fewer. Raises IndexUnavailable.

        vector: float32 (dimensions,), of length 1.
        """
        ...


class LanguageModel(Protocol):
    """Writes. Both ways end within the configured time, LLM_TIMEOUT; both raise GenerationFailed."""

    name: str

    def complete(self, messages: Sequence[Message], *, temperature: float | None = None) -> str:
        """The whole text, never empty."""
        ...

    def stream(self, messages: Sequence[Message], *, temperature: float | None = None) -> Iterator[str]:
        """The text in pieces as they are made. Closing the iterator ends the work at the endpoint."""
        ...


class Reranker(Protocol):
    """Judges passages by more than their cosine."""

    name: str

    def rank(self, query: str, passages: Sequence[Passage]) -> list[float]:
        """A relevance, 0…1, for each passage in their order. Raises RerankFailed."""
        ...
