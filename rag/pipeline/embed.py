"""Step: texts → vectors and the bits of their pieces, a batch at a time, each batch told to whoever watches."""

import functools
import hashlib
import itertools
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from rag.models import EmbeddingModel
from rag.providers import registry
from rag.providers.base import Halves, Vectors
from rag.types.token_vectors import Bits, Pieces

_MOST_OF_A_TITLE = 150
# Of a document of more chunks the pieces would take much of the worker's memory: they are supplied afterwards.
_MOST_WITH_PIECES = 10_000


@dataclass(frozen=True, slots=True)
class Embedded:
    """vectors: float16 (texts, dimensions), as they are stored. pieces: of each text, or none at all."""

    vectors: Halves
    pieces: Sequence[Bits]

    def of(self, rows: Sequence[int]) -> "Embedded":
        return Embedded(self.vectors[np.array(rows, int)], [self.pieces[row] for row in rows] if self.pieces else ())


def embed_texts(
    texts: Iterable[str], count: int, *, model: EmbeddingModel, on_batch: Callable[[int], None]
) -> Embedded:
    """So many texts. `on_batch` hears between batches how many are done; what it raises ends the work. Raises
    EmbeddingFailed."""
    vectors = np.empty((count, model.dimensions), np.float16)
    pieces: list[Bits] = []
    remaining, size = iter(texts), registry.embedder(model).batch_size
    done = 0
    while batch := list(itertools.islice(remaining, size)):
        if done:
            on_batch(done)
        vectors[done : done + len(batch)], found = _embed(batch, model, with_pieces=count <= _MOST_WITH_PIECES)
        pieces += found
        done += len(batch)
    return Embedded(vectors, pieces)


def _embed(texts: Sequence[str], model: EmbeddingModel, *, with_pieces: bool) -> tuple[Vectors, Sequence[Bits]]:
    embedder, second = registry.embedder(model), registry.piece_embedder(model) if with_pieces else None
    prefixed = [model.document_prefix + text for text in texts]
    if second is embedder:
        return second.embed_pieces(prefixed)
    return embedder.embed(prefixed), second.embed_pieces(texts)[1] if second else ()


def embed_pieces(texts: Sequence[str], model: EmbeddingModel) -> Sequence[Bits]:
    """The pieces that `embed_texts` would give for them, alone. Raises EmbeddingFailed."""
    embedder = registry.piece_embedder(model)
    if embedder is registry.embedder(model):
        texts = [model.document_prefix + text for text in texts]
    return embedder.embed_pieces(texts)[1] if embedder else ()


def embed_question(text: str, *, model: EmbeddingModel) -> Vectors:
    """float32 (model.dimensions,). Raises EmbeddingFailed."""
    prefixed, embedder = model.query_prefix + text, registry.embedder(model)
    if embedder is registry.piece_embedder(model):
        return _read(prefixed)[0]
    return embedder.embed([prefixed])[0]


def question_pieces(text: str) -> Pieces:
    """The pieces of a question that the local model embedded a moment ago cost nothing. Raises EmbeddingFailed."""
    return _read(text)[1]


@functools.lru_cache(maxsize=16)
def _read(text: str) -> tuple[Vectors, Pieces]:
    """Remembered for as long as one question's steps take: each needs something else of the same pass."""
    return registry.local_embedder().read(text)


def embedded_text(text: str, headings: Sequence[str], title: str) -> str:
    """The passage under its title and headings: alone it often does not say what it is about."""
    # Bounded: under a very long title every small chunk would cost as much as a large one.
    lines = [line[:_MOST_OF_A_TITLE] for line in (title, *headings[-2:])]
    above = [line for line in lines if line and line not in text[:200]]
    return "\n".join([*dict.fromkeys(above), text])


def digest(text: str, headings: Sequence[str], title: str) -> uuid.UUID:
    """128 bits of SHA-256 over what is embedded and what is stored: two chunks that share it can share a vector."""
    hashed = hashlib.sha256(embedded_text(text, headings, title).encode())
    hashed.update(len(text).to_bytes(8, "big"))  # where the title ends and the passage begins
    return uuid.UUID(bytes=hashed.digest()[:16])
