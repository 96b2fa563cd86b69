"""The built-in reranker: adds MaxSim to the relevance that passages have."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rag.types import Passage

# The weight of MaxSim beside a relevance of both searches; beside the cosine alone it is 1
# (docs/decisions/0025-late-interaction-reranking.md).
_MAXSIM_WEIGHT_IN_HYBRID = 0.75


class LocalReranker:
    """Needs neither a model nor the network: the passages have all scores already."""

    name = "local"

    def rank(self, query: str, passages: Sequence[Passage]) -> list[float]:
        relevances = _standard_scores([passage.relevance for passage in passages])
        maxsims = relevances.copy()  # of passages without MaxSim
        with_maxsim = [index for index, passage in enumerate(passages) if passage.maxsim is not None]
        maxsims[with_maxsim] = _standard_scores([passages[index].maxsim or 0.0 for index in with_maxsim])
        is_hybrid = any(passage.relevance != passage.score for passage in passages)
        weight = _MAXSIM_WEIGHT_IN_HYBRID if is_hybrid else 1.0
        return [1 / (1 + math.exp(-score)) for score in (relevances + weight * maxsims).tolist()]


def _standard_scores(values: Sequence[float]) -> NDArray[np.float64]:
    """Scale to a mean of 0 and a standard deviation of 1; all 0 where the values are equal."""
    array = np.array(values, np.float64)
    deviation = array.std() if len(array) else 0.0
    scores: NDArray[np.float64] = (array - array.mean()) / deviation if deviation > 1e-9 else np.zeros(len(array))
    return scores
