"""The protocols of embedders, language models, rerankers and entailment models. Stores: rag.providers.stores.base.

Each provider translates the exceptions of foreign libraries into RagErrors.
"""

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rag.types import Message, Passage
from rag.types.token_vectors import TokenSignatures, TokenVectors

# float32 of shape (texts, dimensions), or (dimensions,) for one text.
Vectors = NDArray[np.float32]
# The same vectors as they are stored, in half precision.
HalfVectors = NDArray[np.float16]


class Embedder(Protocol):
    """Embeds texts.

    Attributes:
        dimensions: The length of a vector.
        batch_size: How many texts to embed in one call.
    """

    dimensions: int
    batch_size: int

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed texts of any length. No text is truncated.

        Returns:
            The vectors, float32 of shape (len(texts), dimensions), each of length 1, in the order of the texts.

        Raises:
            EmbeddingFailed: If the model did not answer.
        """
        ...


class TokenEmbedder(Embedder, Protocol):
    """Embeds texts and each of their tokens, for late interaction."""

    def embed_with_token_signatures(self, texts: Sequence[str]) -> tuple[Vectors, list[TokenSignatures]]:
        """Embed texts, and return the signatures of their distinct tokens from the same forward pass.

        Returns:
            The vectors that `embed` returns; and the signatures of each text, uint8 of shape (tokens, 48), without
            punctuation.

        Raises:
            EmbeddingFailed: If the model cannot be loaded.
        """
        ...

    def embed_with_token_vectors(self, text: str) -> tuple[Vectors, TokenVectors]:
        """Embed one text, and return the vectors of all its tokens from the same forward pass.

        Returns:
            The vector of the text, float32 of shape (dimensions,), and those of its tokens, float32 of shape (tokens,
            dimensions), each of length 1.

        Raises:
            EmbeddingFailed: If the model cannot be loaded.
        """
        ...


class LanguageModel(Protocol):
    """Generates texts. Both methods end within LLM_TIMEOUT seconds and raise GenerationFailed."""

    name: str

    def complete(self, messages: Sequence[Message], *, temperature: float | None = None) -> str:
        """Return the whole text, never empty.

        Args:
            messages: The conversation, oldest first.
            temperature: The sampling temperature; None for the endpoint's default.

        Raises:
            GenerationFailed: If the model did not answer in time, or without a text.
        """
        ...

    def stream(self, messages: Sequence[Message], *, temperature: float | None = None) -> Iterator[str]:
        """Yield the text in parts as they arrive, and an empty string about every second while no part arrives.

        Closing the iterator ends the request to the endpoint.

        Args:
            messages: The conversation, oldest first.
            temperature: The sampling temperature; None for the endpoint's default.

        Raises:
            GenerationFailed: If the model did not answer, or its answer broke off.
        """
        ...


class Reranker(Protocol):
    """Scores how relevant passages are to a query."""

    name: str

    def rank(self, query: str, passages: Sequence[Passage]) -> list[float]:
        """Return the relevance of each passage, 0…1, in the order of the passages.

        Raises:
            RerankFailed: If the reranker did not answer.
        """
        ...


class EntailmentModel(Protocol):
    """Says whether texts entail others."""

    name: str

    def entail(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Return for each pair the probability, 0…1, that the first text entails the second, in their order.

        Raises:
            EntailmentFailed: If the model did not answer.
            TooManyLongRequests: If the account has too many long requests in progress.
        """
        ...
