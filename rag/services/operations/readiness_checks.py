"""Health checks of the components that requests need, and what `check --deploy` says about their addresses."""

import redis
from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage
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
    has_database = _is_database_reachable()
    return {
        "database": has_database,
        "broker": _broker_error() is None,
        "vector_index": has_database and _is_vector_index_usable(),
        "embedding_model": has_database and _is_embedding_model_usable(),
    }


def check_agent_components() -> dict[str, bool | None]:
    """Check the components of the agent contract, within a few seconds.

    Returns:
        language_model: Whether the language model answers; None if no language model is configured.
        vector_store: Whether the database and its vector index answer.
        retrieval: Whether `vector_store` is true and the default embedding model answers.
    """
    has_database = _is_database_reachable()
    has_store = has_database and _is_vector_index_usable()
    return {
        "language_model": provider_factory.is_language_model_reachable(),
        "vector_store": has_store,
        "retrieval": has_store and _is_embedding_model_usable(),
    }


def check_addresses() -> list[CheckMessage]:
    """Warn in `check --deploy` about a database or Redis that does not answer at its address, or refuses the login."""
    errors = {"DATABASE_URL": _database_error(), "REDIS_URL": _broker_error()}
    return [
        checks.Warning(
            f"{name} cannot be used: {' '.join(str(error).split())}",
            hint="Start the server, or correct the address. In a user or password, write %40 for @, %3A for :, %2F for "
            "/, %23 for # and %25 for %.",
            id="ragsite.W007",
        )
        for name, error in errors.items()
        if error
    ]


def _is_database_reachable() -> bool:
    return _database_error() is None


def _database_error() -> Exception | None:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError as error:
        return error
    return None


def _broker_error() -> Exception | None:
    try:
        with redis.Redis.from_url(
            settings.REDIS_URL, socket_timeout=1, socket_connect_timeout=1, retry=Retry(NoBackoff(), 0)
        ) as client:
            client.ping()
    except (redis.RedisError, ValueError) as error:  # ValueError: it is no address
        return error
    return None


def _is_vector_index_usable() -> bool:
    return provider_factory.chunk_store().is_available()


def _is_embedding_model_usable() -> bool:
    """Embed a word with the local model. A remote model is not called, because that costs money and time."""
    try:
        model = EmbeddingModel.objects.default()
        if model.provider == EmbeddingModel.Provider.LOCAL:
            provider_factory.embedder(model).embed(["ready?"])
        return True
    except (DatabaseError, RagError):
        return False
