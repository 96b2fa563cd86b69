"""Health checks of the components that requests need."""

import redis
from django.conf import settings
from django.db import DatabaseError, connection
from redis.backoff import NoBackoff
from redis.retry import Retry

from rag.errors import RagError
from rag.models import EmbeddingModel
from rag.providers import provider_factory


def check_components() -> dict[str, bool]:
    """Check the components, within about two seconds if one is down.

    Returns:
        database, broker, vector_index, embedding_model → whether the component answers.
    """
    database = _database()
    return {
        "database": database,
        "broker": _broker(),
        "vector_index": database and _vector_index(),
        "embedding_model": database and _embedding_model(),
    }


def check_agent_components() -> dict[str, bool | None]:
    """Check the components of the agent contract, within a few seconds.

    Returns:
        language_model: Whether the language model answers; None if no language model is configured.
        vector_store: Whether the database and its vector index answer.
        retrieval: Whether `vector_store` holds and the default embedding model answers.
    """
    database = _database()
    store = database and _vector_index()
    return {
        "language_model": provider_factory.is_language_model_reachable(),
        "vector_store": store,
        "retrieval": store and _embedding_model(),
    }


def _database() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
            return True
    except DatabaseError:
        return False


def _broker() -> bool:
    client = redis.Redis.from_url(
        settings.REDIS_URL, socket_timeout=1, socket_connect_timeout=1, retry=Retry(NoBackoff(), 0)
    )
    try:
        return bool(client.ping())
    except redis.RedisError:
        return False
    finally:
        client.close()


def _vector_index() -> bool:
    return provider_factory.chunk_store().is_available()


def _embedding_model() -> bool:
    """Embed a word with the local model. A remote model is not called, because that costs money and time."""
    try:
        model = EmbeddingModel.objects.default()
        if model.provider == EmbeddingModel.Provider.LOCAL:
            provider_factory.embedder(model).embed(["ready?"])
        return True
    except (DatabaseError, RagError):
        return False
