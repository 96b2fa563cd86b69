"""The built-in reranker, which adds MaxSim to the relevance of the passages."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rag.types import Passage

# The weight of MaxSim relative to a relevance that combines both searches. Relative to the cosine alone it is 1
# (docs/decisions/0025-late-interaction-reranking.md).
_MAXSIM_WEIGHT_IN_HYBRID = 0.75


class LocalReranker:
    """Reranks by scores that the passages have already, without a model and without the network."""

    name = "local"

    def rank(self, query: str, passages: Sequence[Passage]) -> list[float]:
        relevances = standard_scores([passage.relevance for passage in passages])
        maxsims = relevances.copy()  # stays the value of passages without MaxSim
        with_maxsim = [index for index, passage in enumerate(passages) if passage.maxsim is not None]
        maxsims[with_maxsim] = standard_scores([passages[index].maxsim or 0.0 for index in with_maxsim])
        is_hybrid = any(passage.relevance != passage.score for passage in passages)
        weight = _MAXSIM_WEIGHT_IN_HYBRID if is_hybrid else 1.0
        return [1 / (1 + math.exp(-score)) for score in (relevances + weight * maxsims).tolist()]


def standard_scores(values: Sequence[float]) -> NDArray[np.float64]:
    """Scale values to a mean of 0 and a standard deviation of 1; equal values all become 0.

    Args:
        values: Any number of values, also none.

    Returns:
        float64 (values,).
    """
    array = np.array(values, np.float64)
    deviation = array.std() if len(array) else 0.0
    scores: NDArray[np.float64] = (array - array.mean()) / deviation if deviation > 1e-9 else np.zeros(len(array))
    return scores
