"""Search in one scope, by vector and by words, exact and approximate (docs/decisions/0022-exact-or-approximate.md)."""

import numpy as np

from rag.providers.base import Vectors
from rag.providers.stores.search_types import Candidate, Candidates
from rag.types import Mode, SearchScope
from ragsite.postgres.base import read_rows

from .bm25_query import LexicalQuery
from .search_arguments import FILTERS, SCOPE, filter_values, scope_values

# Up to this many documents that meet the filters, each of their chunks is compared.
_MAX_MATCHING_DOCUMENTS = 2_000
_FIND = (
    "SELECT chunk_id, by_vector, by_words, distance, word_distance, matched_terms "
    f"FROM rag_find_candidates({SCOPE}, {FILTERS}, %s, %s, %s, %s::sparsevec{', %s' * 7})"
)


def find(
    scope: SearchScope,
    vector: Vectors | None,
    query: LexicalQuery,
    *,
    mode: Mode,
    limit: int,
    exact_limit: int,
    chunk_count: int | None,
) -> Candidates:
    """Find candidates with one statement, which checks the caller's access once more.

    `rag_find_candidates`, not the planner, chooses between exact and approximate search (rag/migrations/sql/README.md
    names its file).

    Args:
        scope: The scope to search.
        vector: The query's vector, float32 of shape (dimensions,), of length 1; None to search by words alone.
        query: The query's words.
        mode: How candidates are found.
        limit: The maximum number of chunks by vector, and by words. Fewer are returned only if the scope has fewer.
        exact_limit: The chunks of a scope with at most this many chunks are compared one by one.
        chunk_count: The number of chunks in the scope; None if it is not known.
    """
    values = [
        len(vector) if vector is not None else 0,
        _to_text(vector) if vector is not None else None,
        limit if mode != Mode.LEXICAL else 0,
        query.vector,
        list(query.weights),
        query.rare_terms,
        limit if mode != Mode.DENSE else 0,
        query.chunk_count,
        chunk_count,
        exact_limit,
        _MAX_MATCHING_DOCUMENTS,
    ]
    rows = read_rows(_FIND, [*scope_values(scope), *filter_values(scope), *values], binary=True)
    # Many chunks have the same few terms of the query.
    coverages = {terms: query.coverage(terms) for terms in {tuple(row[-1] or ()) for row in rows}}
    candidates = tuple(
        Candidate(
            chunk_id,
            cosine=0.0 if distance is None else 1.0 - distance,
            lexical_score=-word_distance if word_distance else 0.0,
            coverage=coverages[tuple(terms or ())],
        )
        for chunk_id, _, _, distance, word_distance, terms in rows
    )
    by_words = sorted((place, chunk_id) for chunk_id, _, place, *_ in rows if place is not None)
    return Candidates(
        chunks=candidates,
        dense_ids=tuple(chunk_id for chunk_id, place, *_ in rows if place is not None),
        lexical_ids=tuple(chunk_id for _, chunk_id in by_words),
    )


def _to_text(vector: Vectors) -> str:
    """Return a vector in pgvector's text format. Five digits identify each half-precision number."""
    numbers = vector.astype(np.float16).tolist()
    return f"[{('%.5g,' * len(numbers))[:-1] % tuple(numbers)}]"
