"""Creates the providers that the settings or an embedding model configure."""

import functools
import os
import time
from collections.abc import Mapping
from typing import NotRequired, TypedDict

from django.conf import settings

from rag.errors import InvalidRequest
from rag.models import EmbeddingModel, SyncConnection, SyncKind
from rag.providers.embedders.fallback_endpoint import FallbackEmbedder
from ragsite.postgres import encryption

from .base import Embedder, EntailmentModel, LanguageModel, Reranker, TokenEmbedder
from .connectors.base import Connector, ListingFailed
from .connectors.local_folder import FolderConnector
from .connectors.website import WebsiteConnector
from .embedders import minilm_files, multilingual
from .embedders.local import LocalEmbedder
from .embedders.multilingual import MultilingualEmbedder
from .embedders.openai import OpenAIEmbedder
from .entailment.answer_check import AnswerCheck
from .entailment.multilingual import model_file
from .entailment.multilingual.check import MultilingualCheck
from .entailment.remote import RemoteEntailmentModel
from .language_models.agent_loop import AgentLoop
from .language_models.openai import OpenAILanguageModel, is_reachable
from .rerankers.cohere import CohereReranker
from .rerankers.local import LocalReranker
from .stores.base import ChunkStore
from .stores.pgvector.store import PgVectorStore
from .stores.qdrant.client import QdrantClient
from .stores.qdrant.store import QdrantStore

# Threads of one local embedding call. Worker processes and request threads already run in parallel.
_EMBEDDING_THREADS = 1
_RERANK_TIMEOUT_SECONDS = 10.0
_ENTAILMENT_TIMEOUT_SECONDS = 10.0
_QDRANT_TIMEOUT_SECONDS = 10.0
# What language models are measured as that only clients name: each measured name is kept for ever.
_OTHER_MODELS = "other"
# The endpoint's health is requested at most once in this time.
_HEALTH_CACHE_SECONDS = 5


def embedder(model: EmbeddingModel) -> Embedder:
    """Return the embedder of a model as it is configured now: one per process and configuration."""
    if model.provider == EmbeddingModel.Provider.LOCAL:
        return multilingual_embedder() if model.name == multilingual.NAME else local_embedder()
    first = remote_embedder(model.name, model.dimensions, model.base_url, model.api_key_variable)
    if not model.fallback_base_url:
        return first
    second = remote_embedder(model.name, model.dimensions, model.fallback_base_url, model.fallback_api_key_variable)
    return FallbackEmbedder(first, second)


def token_embedder(model: EmbeddingModel) -> TokenEmbedder | None:
    """Return the embedder of the model's tokens; None if its chunks have no signatures (RAG_TOKEN_SIGNATURES)."""
    is_own = model.provider == EmbeddingModel.Provider.LOCAL and model.name != multilingual.NAME
    has_signatures = settings.RAG_TOKEN_SIGNATURES == "all" or (is_own and settings.RAG_TOKEN_SIGNATURES == "local")
    return local_embedder() if has_signatures else None


@functools.cache
def local_embedder() -> LocalEmbedder:
    """Return the English embedder of this machine's CPU, which also has token vectors; one per process."""
    return LocalEmbedder(cache=settings.RAG_MODEL_CACHE_FOLDER, threads=_EMBEDDING_THREADS)


@functools.cache
def multilingual_embedder() -> MultilingualEmbedder:
    """Return the multilingual embedder of this machine's CPU, one per process."""
    return MultilingualEmbedder(cache=settings.RAG_MODEL_CACHE_FOLDER, threads=_EMBEDDING_THREADS)


@functools.cache
def answer_check() -> AnswerCheck | None:
    """Return the model that judges quoted answers, one per process; None if the local model is not installed."""
    if not minilm_files.is_installed():
        return None
    return AnswerCheck(cache=settings.RAG_MODEL_CACHE_FOLDER, threads=_EMBEDDING_THREADS)


@functools.cache
def multilingual_check() -> MultilingualCheck | None:
    """Return the model that judges texts in any language, one per process; None if it is not installed or not used."""
    if not (settings.RAG_MULTILINGUAL_MODEL and model_file.is_installed()):
        return None
    return MultilingualCheck(cache=settings.RAG_MODEL_CACHE_FOLDER, threads=_EMBEDDING_THREADS)


@functools.lru_cache(maxsize=16)
def remote_embedder(name: str, dimensions: int, base_url: str, api_key_variable: str) -> Embedder:
    """Return the client of a remote embedding model, cached by its configuration."""
    return OpenAIEmbedder(
        model=name,
        dimensions=dimensions,
        base_url=base_url,
        api_key_variable=api_key_variable,
        timeout=settings.RAG_EMBEDDING_TIMEOUT_SECONDS,
        max_retries=settings.RAG_EMBEDDING_MAX_RETRIES,
    )


def language_model(name: str = "", *, timeout: float | None = None) -> LanguageModel | None:
    """Return the configured language model, or another model of the same endpoint; None if none is configured.

    Args:
        name: The name of the model: LLM_MODEL or one of LLM_MODELS, any if LLM_MODELS is empty. Empty for LLM_MODEL.
        timeout: The timeout in seconds; None for LLM_TIMEOUT.

    Raises:
        InvalidRequest: If the name is not one of them.
    """
    if not settings.LLM_MODEL:
        return None
    offered = [settings.LLM_MODEL, *settings.LLM_MODELS]
    if name and settings.LLM_MODELS and name not in offered:
        raise InvalidRequest(f"model must be one of {', '.join(dict.fromkeys(offered))}", field="model")
    return _language_model(
        name or settings.LLM_MODEL,
        settings.LLM_BASE_URL,
        settings.LLM_API_KEY,
        settings.LLM_TIMEOUT if timeout is None else timeout,
        _OTHER_MODELS if name and name not in offered else "",
    )


@functools.lru_cache(maxsize=16)
def _language_model(name: str, base_url: str, api_key: str, timeout: float, measured_as: str) -> LanguageModel:
    return OpenAILanguageModel(name=name, base_url=base_url, api_key=api_key, timeout=timeout, measured_as=measured_as)


def agent_loop() -> AgentLoop | None:
    """Return the configured language model for runs that may call tools; None if none is configured."""
    if not settings.LLM_MODEL:
        return None
    return AgentLoop(
        name=settings.LLM_MODEL,
        base_url=settings.LLM_BASE_URL,
        api_key=settings.LLM_API_KEY,
        timeout=settings.LLM_TIMEOUT,
    )


def is_language_model_reachable() -> bool | None:
    """Return whether the configured model's endpoint answers, cached for _HEALTH_CACHE_SECONDS; None without one."""
    if not settings.LLM_MODEL:
        return None
    return _answers(settings.LLM_BASE_URL, settings.LLM_API_KEY, int(time.monotonic() / _HEALTH_CACHE_SECONDS))


@functools.lru_cache(maxsize=1)
def _answers(base_url: str, api_key: str, moment: int) -> bool:
    return is_reachable(base_url, api_key)


def reranker(name: str = "") -> Reranker:
    """Return a reranker.

    Args:
        name: The name of the reranker; empty for the one of the configured endpoint, or else the built-in one.

    Raises:
        InvalidRequest: If no reranker has this name.
    """
    name = name or settings.RAG_RERANK_MODEL or LocalReranker.name
    if name == LocalReranker.name:
        return LocalReranker()
    if name == settings.RAG_RERANK_MODEL:
        return _remote_reranker(
            name, settings.RAG_RERANK_BASE_URL, settings.RAG_RERANK_API_KEY, settings.RAG_RERANK_DIALECT
        )
    if name in settings.RAG_RERANK_OTHER_MODELS:
        other = settings.RAG_RERANK_OTHER_MODELS[name]
        key = os.environ.get(other.get("key_variable", ""), "")
        return _remote_reranker(name, other["base_url"], key, other.get("dialect", ""))
    offered = dict.fromkeys((LocalReranker.name, settings.RAG_RERANK_MODEL, *settings.RAG_RERANK_OTHER_MODELS))
    raise InvalidRequest(f"rerankModel must be one of {', '.join(filter(None, offered))}", field="rerankModel")


@functools.lru_cache(maxsize=16)
def _remote_reranker(name: str, base_url: str, api_key: str, dialect: str) -> Reranker:
    return CohereReranker(
        name=name,
        base_url=base_url,
        api_key=api_key,
        timeout=_RERANK_TIMEOUT_SECONDS,
        is_tei=dialect == "tei",
    )


def entailment_model() -> EntailmentModel | None:
    """Return the configured entailment model, which validates written answers; None if none is configured."""
    if not settings.RAG_ENTAILMENT_MODEL:
        return None
    return _entailment_model(
        settings.RAG_ENTAILMENT_MODEL,
        settings.RAG_ENTAILMENT_BASE_URL,
        settings.RAG_ENTAILMENT_API_KEY,
        settings.RAG_ENTAILMENT_DIALECT,
    )


@functools.lru_cache(maxsize=4)
def _entailment_model(name: str, base_url: str, api_key: str, dialect: str) -> EntailmentModel:
    return RemoteEntailmentModel(
        name=name, base_url=base_url, api_key=api_key, timeout=_ENTAILMENT_TIMEOUT_SECONDS, dialect=dialect
    )


def chunk_store() -> ChunkStore:
    """Return the store of all chunks, of every embedding model (VECTOR_STORE)."""
    return qdrant_store() if settings.VECTOR_STORE == "qdrant" else pgvector_store()


def pgvector_store() -> PgVectorStore:
    """Return the store that searches in PostgreSQL."""
    return PgVectorStore(exact_limit=settings.RAG_EXACT_SEARCH_MAX_CHUNKS)


def qdrant_store() -> QdrantStore:
    """Return the store that searches in Qdrant (QDRANT_URL)."""
    client = _qdrant_client(settings.QDRANT_URL, settings.QDRANT_API_KEY)
    return QdrantStore(client, exact_limit=settings.RAG_EXACT_SEARCH_MAX_CHUNKS)


@functools.lru_cache(maxsize=4)
def _qdrant_client(url: str, api_key: str) -> QdrantClient:
    return QdrantClient(url, api_key=api_key, timeout=_QDRANT_TIMEOUT_SECONDS)


def connector(connection: SyncConnection) -> Connector:
    """Return the connector of the place from which a data source is synced.

    Raises:
        ListingFailed: If the secret cannot be decrypted, or the file system is not allowed or does not answer.
    """
    organization_slug = connection.source.organization.slug
    if connection.kind == SyncKind.S3:
        bucket, _, prefix = connection.location.partition("/")
        try:
            secret = encryption.decrypt(connection.secret, encryption.Purpose.SYNC) if connection.secret else ""
        except encryption.UnreadableSecret:
            raise ListingFailed("The secret was stored with another SECRET_KEY. Enter it again.") from None
        from .connectors.s3 import S3Connector  # a third of a second of imports, for those who sync a bucket

        return S3Connector(
            bucket=bucket,
            prefix=prefix,
            endpoint=connection.endpoint,
            region=connection.region,
            access_key=connection.access_key,
            secret=secret,
            organization_slug=organization_slug,
        )
    if connection.kind == SyncKind.WEBSITE:
        return WebsiteConnector(connection.location, organization_slug=organization_slug)
    if connection.kind == SyncKind.FILE_SYSTEM:
        name, _, folder = connection.location.partition("/")
        file_system = allowed_file_systems(organization_slug).get(name)
        if file_system is None:
            raise ListingFailed("The operator does not allow this file system (RAG_SYNC_FILE_SYSTEMS).")
        from .connectors.fsspec_file_system import FileSystemConnector  # imported only where it is used, as above

        return FileSystemConnector(file_system["url"], options=file_system.get("options", {}), folder=folder)
    return FolderConnector(connection.location, allowed=allowed_folders(organization_slug))


def allowed_folders(organization_slug: str) -> list[str]:
    """Return the folders of this machine from which the organisation may fetch documents (RAG_SYNC_FOLDERS)."""
    return [*settings.RAG_SYNC_FOLDERS.get("*", ()), *settings.RAG_SYNC_FOLDERS.get(organization_slug, ())]


class FileSystem(TypedDict):
    """A file system that the operator allows (RAG_SYNC_FILE_SYSTEMS)."""

    url: str
    options: NotRequired[Mapping[str, object]]
    organizations: list[str]


def allowed_file_systems(organization_slug: str) -> dict[str, FileSystem]:
    """Return the file systems from which the organisation may fetch documents, by name (RAG_SYNC_FILE_SYSTEMS)."""
    return {
        name: file_system
        for name, file_system in settings.RAG_SYNC_FILE_SYSTEMS.items()
        if {"*", organization_slug} & set(file_system.get("organizations", ()))
    }
