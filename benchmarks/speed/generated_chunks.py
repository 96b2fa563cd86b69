"""Generated chunks: random words of real texts, with random vectors and token signatures."""

import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from rag.models import DataSource
    from rag.providers.stores.store_writes import DocumentVersion

# Words and token signatures of a generated chunk.
_WORDS, _TOKENS = 120, 70


def create_version(
    source: "DataSource", count: int, texts: Sequence[str], random: np.random.Generator
) -> "DocumentVersion":
    """Create a document of the source, and return its version with so many chunks, which is not written yet."""
    from rag.models import Document
    from rag.providers.stores.store_writes import DocumentVersion
    from rag.types import ChunkDraft

    vectors = random.standard_normal((count, 384)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    words = np.array(" ".join(texts).split())
    sentences = [" ".join(random.choice(words, _WORDS)) for _ in range(count)]
    document = Document.objects.create(
        source=source, path=str(uuid.uuid4()), title="generated", text="", content_hash="", chunk_size=1,
        chunk_overlap=0, chunk_count=count, revision=uuid.uuid4(), source_type="doc",
    )  # fmt: skip
    return DocumentVersion(
        document=document,
        chunks=[ChunkDraft(number, number, number + 1, text, (), 1) for number, text in enumerate(sentences)],
        digests=[uuid.uuid4() for _ in sentences],
        new_indexes=range(count),
        vectors=vectors.astype(np.float16),
        signatures=list(random.integers(0, 256, (count, _TOKENS, 48), np.uint8)),
    )
