"""Step: texts → vectors, a batch at a time, each batch told to whoever watches."""

from collections.abc import Callable, Sequence

import numpy as np

from rag.models import EmbeddingModel
from rag.providers import registry
from rag.providers.base import Vectors
from rag.types import ChunkDraft

_MOST_OF_A_TITLE = 150


def embed_chunks(
    chunks: Sequence[ChunkDraft], *, title: str, model: EmbeddingModel, on_batch: Callable[[int], None]
) -> Vectors:
    """float32 (len(chunks), model.dimensions). `on_batch` hears between batches how many are done; what it raises ends
    the work."""
    embedder = registry.embedder(model)
    texts = [model.document_prefix + embedded_text(chunk.text, chunk.headings, title) for chunk in chunks]
    vectors = np.empty((len(texts), model.dimensions), np.float32)
    for start in range(0, len(texts), embedder.batch_size):
        if start:
            on_batch(start)
        batch = slice(start, start + embedder.batch_size)
        vectors[batch] = embedder.embed(texts[batch])
    return vectors


def embed_question(text: str, *, model: EmbeddingModel) -> Vectors:
    """float32 (model.dimensions,)."""
    return registry.embedder(model).embed([model.query_prefix + text])[0]


def embedded_text(text: str, headings: Sequence[str], title: str) -> str:
    """The passage under its title and headings: alone it often does not say what it is about."""
    # Bounded: under a very long title every small chunk would cost as much as a large one.
    lines = [line[:_MOST_OF_A_TITLE] for line in (title, *headings[-2:])]
    above = [line for line in lines if line and line not in text[:200]]
    return "\n".join([*dict.fromkeys(above), text])
