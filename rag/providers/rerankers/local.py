"""The built-in reranker: the order as it came, and how near the pieces of question and passage come to each other."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rag.types import Passage


class LocalReranker:
    """No model and no network of its own: what it weighs is on the passages already."""

    name = "local"

    def rank(self, query: str, passages: Sequence[Passage]) -> list[float]:
        mixed = _standard([passage.relevance for passage in passages])
        pieces = mixed.copy()  # where nothing was compared, the passage is taken to be as near as its rank says
        compared = [index for index, passage in enumerate(passages) if passage.maxsim is not None]
        pieces[compared] = _standard([passages[index].maxsim or 0.0 for index in compared])
        # The order that comes has two voices, meaning and words, if it is not the cosine's alone; the pieces are one
        # more, and each counts the same.
        voices = 1 if all(passage.relevance == passage.score for passage in passages) else 2
        return [1 / (1 + math.exp(-each)) for each in (mixed + pieces / voices).tolist()]


def _standard(values: Sequence[float]) -> NDArray[np.float64]:
    """Standard scores: moved and scaled to a mean of 0 and a deviation of 1; zeros where nothing differs."""
    array = np.array(values, np.float64)
    width = array.std() if len(array) else 0.0
    standard: NDArray[np.float64] = (array - array.mean()) / width if width > 1e-9 else np.zeros(len(array))
    return standard
