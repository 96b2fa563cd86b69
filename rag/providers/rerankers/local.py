"""The built-in reranker: the order as it came, and how near the pieces of question and passage come to each other."""

import math
from collections.abc import Sequence

import numpy as np

from rag.types import Passage


class LocalReranker:
    """No model and no network of its own: what it weighs is on the passages already."""

    name = "local"

    def rank(self, query: str, passages: Sequence[Passage]) -> list[float]:
        mixed = _standard([passage.relevance for passage in passages])
        compared = [index for index, passage in enumerate(passages) if passage.maxsim is not None]
        # Where nothing was compared, the passage is taken to be as near as its rank says.
        near = mixed.copy()
        near[compared] = _standard([passages[index].maxsim or 0.0 for index in compared])
        return [1 / (1 + math.exp(-value)) for value in (mixed + near).tolist()]


def _standard(values: Sequence[float]) -> np.ndarray:
    """Standard scores; zeros where nothing differs."""
    array = np.array(values, np.float64)
    width = array.std() if len(array) else 0.0
    return (array - array.mean()) / width if width > 1e-9 else np.zeros(len(array))
