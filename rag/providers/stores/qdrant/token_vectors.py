"""Late interaction in Qdrant: the token vectors of a chunk as a multivector of signs, compared in the search's request.

A query asks for each of its tokens alone. Qdrant quantises a query token with 8 bits, relative to its largest
component, and returns similarities in this scale; those of several tokens could not be separated again. And grounding
weights the tokens by how much the candidates differ in each (rag.pipeline.retrieval.reranking.late_interaction).
"""

import time
import uuid
from collections.abc import Mapping, Sequence

import numpy as np
from django.conf import settings

from rag.types.token_vectors import TokenVectors
from ragsite.http.bodies.json_types import JsonObject

from . import collection

# Each token is one more search in the same request. For a longer query, chunks are compared by their signatures in
# PostgreSQL.
MAX_TOKENS = 32
# How long a process remembers that a collection was created without token vectors.
_MEMORY_SECONDS = 300.0
# Decimals of a query token's components, the largest of which is 1. Qdrant keeps 8 bits of them.
_DECIMALS = 4

_lacking: dict[str, float] = {}


def vectors_of(signatures: bytes) -> list[list[int]]:
    """Return the token vectors of a chunk, 1 or -1 for each bit of its signatures."""
    bits = np.unpackbits(np.frombuffer(signatures, np.uint8)).reshape(-1, collection.TOKEN_DIMENSIONS)
    vectors: list[list[int]] = (2 * bits.astype(np.int8) - 1).tolist()
    return vectors


def searches(
    name: str, query: TokenVectors | None, candidates: Sequence[JsonObject], *, limit: int
) -> list[JsonObject]:
    """Return one search for each token of the query, which scores the candidates of other searches.

    Args:
        name: The collection.
        query: The query's token vectors; None without late interaction.
        candidates: The searches that find the candidates, with their filters.
        limit: The number of candidates of each.

    Returns:
        The searches; none if the collection has no token vectors or the query is too long.
    """
    if query is None or not 0 < len(query) <= MAX_TOKENS or not are_used(name):
        return []
    scaled = np.round(query / _scales(query), _DECIMALS)
    return [
        {
            "prefetch": [candidate | {"limit": limit} for candidate in candidates],
            "query": [token.tolist()],
            "using": collection.TOKENS,
            "params": {"quantization": {"rescore": False}},
            "limit": limit * len(candidates),
            "with_payload": False,
        }
        for token in scaled.astype(np.float64).round(_DECIMALS)
    ]


def similarities(
    query: TokenVectors, scores: Sequence[Mapping[uuid.UUID, float]]
) -> dict[uuid.UUID, tuple[float, ...]]:
    """Return the best similarity of each query token to any token of a chunk, for the chunks that have token vectors.

    Args:
        query: The query's token vectors.
        scores: The results of `searches`.
    """
    factors = (_scales(query)[:, 0] / np.sqrt(collection.TOKEN_DIMENSIONS)).tolist()
    complete = set.intersection(*map(set, scores)) if scores else set()
    return {
        # Bounded, so that a forged score does not decide about other chunks.
        chunk_id: tuple(
            min(1.0, max(-1.0, by_chunk[chunk_id] * factor)) for by_chunk, factor in zip(scores, factors, strict=True)
        )
        for chunk_id in complete
    }


def are_used(name: str) -> bool:
    """Return whether searches ask for token vectors: unless they are switched off or were refused a short time ago."""
    return settings.QDRANT_TOKEN_VECTORS and _lacking.get(name, 0.0) < time.monotonic()


def remember_lacking(name: str) -> None:
    """Note that Qdrant refused a search by token vectors: an earlier version has created the collection."""
    _lacking[name] = time.monotonic() + _MEMORY_SECONDS


def _scales(query: TokenVectors) -> TokenVectors:
    """Return the largest component of each token, float32 of shape (tokens, 1)."""
    scales: TokenVectors = np.maximum(np.abs(query).max(axis=1, keepdims=True), 1e-12)
    return scales
