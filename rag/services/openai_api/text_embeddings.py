"""Embeds texts of clients with the local model, in the places for documents of waiting clients."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from orgs.access.caller import Caller
from rag.errors import InvalidRequest, UnknownModel
from rag.models import EmbeddingModel
from rag.pipeline.embed_documents import estimate_local_tokens
from rag.providers import provider_factory
from rag.providers.limits.document_limiter import DOCUMENT_LIMITER

# About six seconds of work on a slow core (docs/decisions/0042-expensive-requests.md).
MAX_TOKENS = 25_000


@dataclass(frozen=True, slots=True)
class TextEmbeddings:
    """The vectors of texts, of length 1, in the order of the texts.

    Attributes:
        tokens: An estimate of how many tokens the model read.
    """

    vectors: Sequence[Sequence[float]]
    tokens: int


def embed(texts: Sequence[str], *, model_name: str, dimensions: int | None, caller: Caller) -> TextEmbeddings:
    """Embed texts as passages of documents are embedded.

    Args:
        texts: The texts.
        model_name: The name of a local model.
        dimensions: The number of dimensions that the client expects; None for any.
        caller: The caller. The places for documents are divided between organisations.

    Raises:
        UnknownModel: If there is no local model of this name.
        InvalidRequest: If the texts have more than MAX_TOKENS tokens, or `dimensions` differs from the model's.
        EmbeddingFailed: If too many clients wait for the model already.
    """
    model = _local_model(model_name)
    if dimensions not in (None, model.dimensions):
        raise InvalidRequest(f"dimensions must be {model.dimensions}, or left out", field="dimensions")
    tenant_id = caller.organization.pk if caller.organization else caller.authenticated_user.pk
    with DOCUMENT_LIMITER.admit(tenant_id, size=sum(len(text.encode()) for text in texts)):
        tokens = estimate_local_tokens(texts, model=model)
        if tokens > MAX_TOKENS:
            message = f"input has {tokens:,} tokens; at most {MAX_TOKENS:,} are embedded in one request"
            raise InvalidRequest(message, field="input")
        embedder, prefixed = provider_factory.embedder(model), [model.document_prefix + text for text in texts]
        batches = (prefixed[start : start + embedder.batch_size] for start in range(0, len(texts), embedder.batch_size))
        vectors = [vector for batch in batches for vector in embedder.embed(batch).tolist()]
    return TextEmbeddings(vectors, tokens)


def pack(vector: Sequence[float]) -> bytes:
    """Return a vector as float32 in little-endian order."""
    return struct.pack(f"<{len(vector)}f", *vector)


def _local_model(name: str) -> EmbeddingModel:
    default = EmbeddingModel.objects.default()
    if default.name == name and default.provider == EmbeddingModel.Provider.LOCAL:
        return default
    model = EmbeddingModel.objects.filter(name=name, provider=EmbeddingModel.Provider.LOCAL).first()
    if model is None:
        hint = f" The default model is {default.name}." if default.provider == EmbeddingModel.Provider.LOCAL else ""
        raise UnknownModel(f"There is no local embedding model of this name.{hint}")
    return model
