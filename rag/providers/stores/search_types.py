"""What a chunk store is asked for, and what it finds."""

import uuid
from dataclasses import dataclass
from typing import NamedTuple

from rag.providers.base import Vectors
from rag.types import SearchScope
from rag.types.token_vectors import TokenVectors


@dataclass(frozen=True, slots=True)
class ScopeQuery:
    """A query in one scope.

    Attributes:
        vector: The vector of the scope's model, float32 of shape (dimensions,), of length 1; None to search by
            words alone.
        token_vectors: The query's token vectors, float32 of shape (tokens, dimensions); None without late interaction.
            A store may compare them with the best candidates.
    """

    scope: SearchScope
    vector: Vectors | None
    token_vectors: TokenVectors | None = None


class Candidate(NamedTuple):
    """A chunk with both of its scores. A named tuple, because a search makes hundreds.

    Attributes:
        cosine: The cosine similarity, -1…1; 0 without a query vector.
        lexical_score: The BM25 score; 0 if the chunk contains no word of the query.
        coverage: The share of the query's words that the chunk contains, each weighted by its IDF, 0…1.
        token_similarities: The best similarity of each token of the query to any token of the chunk. None if the store
            has not compared them: then they are computed from `token_signatures`.
    """

    chunk_id: uuid.UUID
    cosine: float
    lexical_score: float
    coverage: float
    token_similarities: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True)
class Candidates:
    """The chunks that a search found in one scope.

    Attributes:
        chunks: The union of both searches without duplicates: first the nearest by vector, then the others.
        dense_ids: The ids found by vector, nearest first.
        lexical_ids: The ids found by words, best first.
    """

    chunks: tuple[Candidate, ...]
    dense_ids: tuple[uuid.UUID, ...]
    lexical_ids: tuple[uuid.UUID, ...]
