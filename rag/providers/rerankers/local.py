"""The built-in reranker: the order as it came, and how near the pieces of question and passage come to each other."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rag.types import Passage

# What the pieces count for beside an order that knows meaning and words already; beside the cosine alone, 1
# (docs/decisions/0025-late-interaction-reranking.md).
_BESIDE_A_MIX = 0.75


class LocalReranker:
    """No model and no network of its own: what it weighs is on the passages already."""

    name = "local"

    def rank(self, query: str, passages: Sequence[Passage]) -> list[float]:
        mixed = _standard([passage.relevance for passage in passages])
        pieces = mixed.copy()  # where nothing was compared, the passage is taken to be as near as its rank says
        compared = [index for index, passage in enumerate(passages) if passage.maxsim is not None]
        pieces[compared] = _standard([passages[index].maxsim or 0.0 for index in compared])
        is_mix = any(passage.relevance != passage.score for passage in passages)
        weight = _BESIDE_A_MIX if is_mix else 1.0
        return [1 / (1 + math.exp(-each)) for each in (mixed + weight * pieces).tolist()]


def _standard(values: Sequence[float]) -> NDArray[np.float64]:
    """Standard scores: moved and scaled to a mean of 0 and a deviation of 1; zeros where nothing differs."""
    array = np.array(values, np.float64)
    width = array.std() if len(array) else 0.0
    standard: NDArray[np.float64] = (array - array.mean()) / width if width > 1e-9 else np.zeros(len(array))
    return standard
