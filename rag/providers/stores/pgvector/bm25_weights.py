"""The formula of BM25 with its parameters: the weight of a term in a chunk, which the index stores."""

from collections import Counter
from collections.abc import Sequence

# BM25's parameters, and the average length of a chunk in terms. It is a constant, so that the stored weights
# of a chunk depend on that chunk alone. The size of chunks is bounded anyway.
_K1, _B, _AVERAGE_LENGTH = 1.2, 0.75, 120
# pgvector allows 16,000 elements in a sparse vector. Only a chunk that consists of different words has more.
_MAX_TERMS = 10_000


def weigh(terms: Sequence[int]) -> tuple[list[int], list[float]]:
    """Return the distinct terms in ascending order, and their BM25 weights without the IDF."""
    counts = sorted(Counter(terms).items())[:_MAX_TERMS]
    length_norm = _K1 * (1 - _B + _B * len(terms) / _AVERAGE_LENGTH)
    return [term for term, _ in counts], [count * (_K1 + 1) / (count + length_norm) for _, count in counts]
