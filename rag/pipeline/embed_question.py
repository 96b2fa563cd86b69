"""Step: question -> its vector and its token vectors. Those of the local model are kept for the steps that follow."""

import functools
import uuid

import structlog

from rag.errors import EmbeddingFailed
from rag.models import EmbeddingModel
from rag.providers import provider_factory
from rag.providers.base import Vectors
from rag.types.token_vectors import TokenVectors
from ragsite.postgres import identity

logger = structlog.get_logger(__name__)

# A question of the maximum length can have two thousand tokens; the first ones say what it asks.
MAX_QUESTION_TOKENS = 128
# How many embeddings by the local model a process keeps.
_MAX_KEPT = 16


def embed_question(text: str, *, model: EmbeddingModel) -> Vectors:
    """Embed a question.

    Returns:
        float32 (model.dimensions,), of length 1.

    Raises:
        EmbeddingFailed: If the model did not answer.
    """
    prefixed, embedder = model.query_prefix + text, provider_factory.embedder(model)
    if embedder is provider_factory.token_embedder(model):
        return embed_question_locally(prefixed)[0]
    if embedder is provider_factory.multilingual_embedder():
        return provider_factory.multilingual_embedder().embed_question(prefixed)
    vector: Vectors = embedder.embed([prefixed])[0]
    return vector


def embed_question_tokens(text: str) -> TokenVectors | None:
    """Return the vectors of the question's first tokens; None if it has none or the local model fails."""
    try:
        token_vectors = embed_question_locally(text)[1][:MAX_QUESTION_TOKENS]
    except EmbeddingFailed as error:
        logger.warning("late_interaction_skipped", reason=error.message)
        return None
    return token_vectors if len(token_vectors) else None


def embed_question_locally(text: str) -> tuple[Vectors, TokenVectors]:
    """Return the vector and the token vectors of a question by the local model.

    They are kept, because the steps of a search use different parts of the result. They are kept for their user only:
    how long a question takes must not tell anybody whether others have asked it.

    Raises:
        EmbeddingFailed: If the local model cannot be loaded.
    """
    return _embed_for_user(text, identity.current().user)


@functools.lru_cache(maxsize=_MAX_KEPT)
def _embed_for_user(text: str, _: uuid.UUID | None) -> tuple[Vectors, TokenVectors]:
    return provider_factory.local_embedder().embed_with_token_vectors(text)


def clear_kept_questions() -> None:
    """Drop what is kept, for measurements."""
    _embed_for_user.cache_clear()
