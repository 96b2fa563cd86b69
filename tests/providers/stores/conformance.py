"""What the conformance tests of chunk stores share.

A new store belongs in the fixture `store` (conftest.py), or in `STORES` if it needs no server.
"""

import uuid
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from django.db import transaction

from rag.models import Chunk, DataSource, Document, EmbeddingModel
from rag.providers.base import Vectors
from rag.providers.stores.base import ChunkStore
from rag.providers.stores.pgvector.store import PgVectorStore
from rag.providers.stores.search_types import Candidate, Candidates, ScopeQuery
from rag.providers.stores.store_writes import DocumentVersion
from rag.text.indexed_text import digest
from rag.types import ChunkDraft, Filters, Mode, SearchScope
from rag.types.token_vectors import TokenSignatures
from ragsite.postgres.models import uuid7

STORES: dict[str, Callable[[], ChunkStore]] = {
    "pgvector": lambda: PgVectorStore(exact_limit=20_000),
    "pgvector, by index": lambda: PgVectorStore(exact_limit=0),
}


DIMENSIONS = 384


def unit_vector(*weights: float, dimensions: int = DIMENSIONS) -> Vectors:
    """A vector of length 1 in the direction of these first components."""
    vector = np.zeros(dimensions, np.float32)
    vector[: len(weights)] = weights
    return vector / np.linalg.norm(vector)


def signatures_of(seed: int, tokens: int = 5) -> TokenSignatures:
    return np.random.default_rng(seed).integers(0, 256, (tokens, DIMENSIONS // 8), np.uint8)


def new_document(source: DataSource, **fields: Any) -> Document:
    values: dict[str, Any] = {"title": "", "source_type": "doc", "content_type": "text/plain", "lang": "en"} | fields
    return Document.objects.create(
        source=source,
        path=str(uuid7()),
        text="",
        content_hash="",
        chunk_size=1,
        chunk_overlap=0,
        chunk_count=1,
        revision=uuid7(),
        **values,
    )


def write(
    store: ChunkStore,
    document: Document,
    texts: Sequence[str],
    vectors: Sequence[Vectors] = (),
    signatures: Sequence[TokenSignatures] = (),
    second_model: EmbeddingModel | None = None,
    **fields: Any,
) -> list[uuid.UUID]:
    """Write these chunks as the document's new version, by default with orthogonal vectors; return their ids."""
    model = document.source.embedding_model
    stored_digests = store.embedded_digests(document, model=model)
    is_new = not stored_digests
    digests = [digest(text, (), document.title) for text in texts]
    new_indexes = [index for index, text_digest in enumerate(digests) if not stored_digests[text_digest]]
    all_vectors = list(vectors) or [unit_vector(*[0] * index, 1) for index in range(len(texts))]
    half_vectors = np.array([all_vectors[index] for index in new_indexes], np.float16).reshape(-1, DIMENSIONS)
    drafts = [ChunkDraft(index, index, index + 1, text, (), 1) for index, text in enumerate(texts)]
    with transaction.atomic():
        store.write(
            [
                DocumentVersion(
                    document,
                    drafts,
                    digests,
                    new_indexes,
                    half_vectors,
                    [signatures[index] for index in new_indexes] if signatures else (),
                    is_new=is_new,
                    **fields,
                )
            ],
            model=model,
            second_model=second_model,
        )
    return list(Chunk.objects.filter(document=document).order_by("position").values_list("pk", flat=True))


def scope(*sources: DataSource, model: EmbeddingModel | None = None, **filters: Any) -> SearchScope:
    model_id = model.pk if model else sources[0].embedding_model_id
    return SearchScope(tuple(source.pk for source in sources), model_id, Filters(**filters))


def search(
    store: ChunkStore,
    text: str,
    vector: Vectors | None,
    within: SearchScope,
    *,
    mode: Mode = Mode.HYBRID,
    limit: int = 100,
) -> Candidates:
    (candidates,) = store.search(text, [ScopeQuery(within, vector)], mode=mode, limit=limit)
    return candidates


def ids(candidates: Candidates) -> set[uuid.UUID]:
    return {chunk.chunk_id for chunk in candidates.chunks}


def by_id(candidates: Candidates) -> dict[uuid.UUID, Candidate]:
    return {chunk.chunk_id: chunk for chunk in candidates.chunks}
