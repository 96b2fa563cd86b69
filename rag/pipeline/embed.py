"""Step: texts → vectors, a batch at a time, each batch told to whoever watches."""

import hashlib
import itertools
import uuid
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from rag.models import EmbeddingModel
from rag.providers import registry
from rag.providers.base import Halves, Vectors

_MOST_OF_A_TITLE = 150


def embed_texts(texts: Iterable[str], count: int, *, model: EmbeddingModel, on_batch: Callable[[int], None]) -> Halves:
    """float16 (count, model.dimensions), as they are stored. `on_batch` hears between batches how many are done; what
    it raises ends the work. Raises EmbeddingFailed."""
    embedder = registry.embedder(model)
    vectors = np.empty((count, model.dimensions), np.float16)
    remaining, done = iter(texts), 0
    while batch := [model.document_prefix + text for text in itertools.islice(remaining, embedder.batch_size)]:
        if done:
            on_batch(done)
        vectors[done : done + len(batch)] = embedder.embed(batch)
        done += len(batch)
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


def digest(text: str, headings: Sequence[str], title: str) -> uuid.UUID:
    """128 bits of SHA-256 over what is embedded and what is stored: two chunks that share it can share a vector."""
    hashed = hashlib.sha256(embedded_text(text, headings, title).encode())
    hashed.update(len(text).to_bytes(8, "big"))  # where the title ends and the passage begins
    return uuid.UUID(bytes=hashed.digest()[:16])
