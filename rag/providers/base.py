"""What a provider must be able to do. Each translates foreign exceptions into RagErrors at its own edge."""

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rag.types import Message, Passage
from rag.types.token_vectors import TokenSignatures, TokenVectors

Vectors = NDArray[np.float32]
# As they are stored.
HalfVectors = NDArray[np.float16]


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


class TokenEmbedder(Embedder, Protocol):
    """Says of a text not only where it lies as a whole, but also where each of its pieces does."""

    def embed_with_token_signatures(self, texts: Sequence[str]) -> tuple[Vectors, list[TokenSignatures]]:
        """What `embed` gives, and from the same pass the bits of each text's distinct pieces, (pieces, 48), without
        punctuation. Raises EmbeddingFailed."""
        ...

    def embed_with_token_vectors(self, text: str) -> tuple[Vectors, TokenVectors]:
        """A text's vector, (dimensions,), and all its pieces, (pieces, dimensions), each of length 1, from the same
        pass. Raises EmbeddingFailed."""
        ...


class LanguageModel(Protocol):
    """Writes. Both ways end within the configured time, LLM_TIMEOUT; both raise GenerationFailed."""

    name: str

    def complete(self, messages: Sequence[Message], *, temperature: float | None = None) -> str:
        """The whole text, never empty."""
        ...

    def stream(self, messages: Sequence[Message], *, temperature: float | None = None) -> Iterator[str]:
        """The text in pieces as they are made, and empty ones, about one a second, while none comes.

        Closing the iterator ends the work at the endpoint.
        """
        ...


class Reranker(Protocol):
    """Judges passages by more than their cosine."""

    name: str

    def rank(self, query: str, passages: Sequence[Passage]) -> list[float]:
        """A relevance, 0…1, for each passage in their order. Raises RerankFailed."""
        ...
