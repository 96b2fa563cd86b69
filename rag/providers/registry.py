"""Which class serves which row."""

import functools

from django.conf import settings

from rag.models import EmbeddingModel

from .base import Embedder, VectorStore
from .embedders.local import LocalEmbedder
from .embedders.openai import OpenAIEmbedder
from .stores.pgvector import PgVectorStore


def embedder(model: EmbeddingModel) -> Embedder:
    """One embedder a process for each model as it is configured now."""
    return _embedder(model.provider, model.name, model.dimensions, model.base_url, model.api_key_variable)


@functools.lru_cache(maxsize=16)
def _embedder(provider: str, name: str, dimensions: int, base_url: str, api_key_variable: str) -> Embedder:
    if provider == EmbeddingModel.Provider.LOCAL:
        return LocalEmbedder(cache=settings.RAG_MODEL_CACHE, threads=settings.RAG_EMBED_THREADS)
    return OpenAIEmbedder(
        model=name,
        dimensions=dimensions,
        base_url=base_url,
        api_key_variable=api_key_variable,
        timeout=settings.EMBEDDING_TIMEOUT,
        max_retries=settings.EMBEDDING_MAX_RETRIES,
    )


def vector_store(model: EmbeddingModel) -> VectorStore:
    return PgVectorStore(dimensions=model.dimensions, exact_limit=settings.RAG_EXACT_SEARCH_LIMIT)
