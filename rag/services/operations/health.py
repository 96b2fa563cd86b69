"""Whether what a request needs answers."""

import redis
from django.conf import settings
from django.db import DatabaseError, connection
from redis.backoff import NoBackoff
from redis.retry import Retry

from rag.errors import RagError
from rag.models import EMBEDDING_TABLES, EmbeddingModel
from rag.providers import registry


def checks() -> dict[str, bool]:
    """database, broker, vector_index, embedding_model: true if it answers. A second or two at most when one is down."""
    database = _database()
    return {
        "database": database,
        "broker": _broker(),
        "vector_index": database and _vector_index(),
        "embedding_model": database and _embedding_model(),
    }


def agent_checks() -> dict[str, bool | None]:
    """language_model (None: none is configured), vector_store, retrieval: true if it answers. A few seconds at most."""
    database = _database()
    store = database and _vector_index()
    return {
        "language_model": registry.language_model_answers(),
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
    try:
        EMBEDDING_TABLES[384].objects.exists()
        return True
    except DatabaseError:
        return False


def _embedding_model() -> bool:
    """The local model is asked for a vector; a remote one, which costs money and time, is only looked up."""
    try:
        model = EmbeddingModel.objects.default()
        if model.provider == EmbeddingModel.Provider.LOCAL:
            registry.embedder(model).embed(["ready?"])
        return True
    except (DatabaseError, RagError):
        return False
