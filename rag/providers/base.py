"""What a provider must be able to do. Each translates foreign exceptions into RagErrors at its own edge."""

import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rag.models import Document
from rag.types import ChunkDraft, Hit, Message, Passage, Scope
from rag.types.token_vectors import Bits, Pieces

Vectors = NDArray[np.float32]
# As they are stored.
Halves = NDArray[np.float16]


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


class PieceEmbedder(Embedder, Protocol):
    """Says of a text not only where it lies as a whole, but also where each of its pieces does."""

    def embed_pieces(self, texts: Sequence[str]) -> tuple[Vectors, list[Bits]]:
        """What `embed` gives, and from the same pass the bits of each text's distinct pieces, (pieces, 48), without
        punctuation. Raises EmbeddingFailed."""
        ...

    def read(self, text: str) -> tuple[Vectors, Pieces]:
        """A text's vector, (dimensions,), and all its pieces, (pieces, dimensions), each of length 1, from the same
        pass. Raises EmbeddingFailed."""
        ...


@dataclass(frozen=True, slots=True)
class Version:
    """What a document is to consist of. is_new: it had no chunks.

    digests: of each chunk, of what is embedded. fresh: indexes of the chunks that are new, with their vectors,
    (len(fresh), dimensions), and the bits of their pieces if there are any. The others are `known`, and keep what they
    have.
    """

    document: Document
    chunks: Sequence[ChunkDraft]
    digests: Sequence[uuid.UUID]
    fresh: Sequence[int]
    vectors: Halves
    pieces: Sequence[Bits] = ()
    is_new: bool = False


class VectorStore(Protocol):
    """Keeps the chunks of documents and finds the nearest.

    Writes take part in the caller's transaction: readers see the old chunks or the new, never a mixture.
    """

    def known(self, document: Document, *, model_id: uuid.UUID) -> Counter[uuid.UUID]:
        """The digests of its chunks that have a vector of this model, each as often as it is there."""
        ...

    def replace(self, versions: Sequence[Version], *, model_id: uuid.UUID) -> None:
        """Each of these documents, whose rows are there, has its version's chunks and no others."""
        ...

    def refresh_filters(self, document: Document) -> None:
        """The document's type, language, tags or date changed; its chunks did not."""
        ...

    def search(self, vector: Vectors, scope: Scope, k: int) -> list[Hit]:
        """The k nearest chunks of the scope, best first, fewer only if the scope holds fewer. Raises IndexUnavailable.

        vector: float32 (dimensions,), of length 1.
        """
        ...

    def compare(self, vector: Vectors, model_id: uuid.UUID, chunk_ids: Sequence[uuid.UUID]) -> list[Hit]:
        """These chunks, in any order, without those that have no vector of the model. Raises IndexUnavailable."""
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
