"""Chooses the part of a text that a question is most probably about, by embeddings of single pieces.

These are learned with texts in all languages, so that a word is near its translations. No layer of the model is needed.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rag.providers.base import Vectors

from .model_file import ModelFile

# A part begins at each of so many pieces.
_STEP = 8
# A piece of the question counts the more the rarer it is: by its logarithmic probability, of which "the" has -4.
_COMMON_SCORE = 4.0
# The mean of embeddings says nothing about a text. It is that of each 20th of the most frequent pieces.
_AVERAGED = range(5, 60_000, 20)


class Windows:
    """Finds windows by the greatest similarity to each piece of the question (MaxSim)."""

    def __init__(self, file: ModelFile) -> None:
        self._file = file
        self._mean = file.word_embeddings(_AVERAGED).mean(axis=0)

    def compare(self, question: Sequence[int], text: Sequence[int]) -> float:
        """Return the mean of the greatest similarity of each piece of the question, weighted by how rare it is."""
        if not question or not text:
            return 0.0
        weights = self._weights(question)
        similarities = self._directions(question) @ self._directions(text).T
        return float(weights @ similarities.max(axis=1) / max(weights.sum(), 1e-6))

    def find_best(self, question: Sequence[int], text: Sequence[int], size: int) -> list[int]:
        """Return the best `size` pieces of a text in a row; the first ones if several are as good."""
        if len(text) <= size or not question:
            return list(text[:size])
        of_question = self._directions(question)
        weights = self._weights(question)
        similarities = of_question @ self._directions(text).T
        starts = [*range(0, len(text) - size, _STEP), len(text) - size]
        scores = [float(weights @ similarities[:, start : start + size].max(axis=1)) for start in starts]
        best = starts[int(np.argmax(scores))]
        return list(text[best : best + size])

    def _weights(self, ids: Sequence[int]) -> Vectors:
        weights: Vectors = np.maximum(-self._file.scores[list(ids)] - _COMMON_SCORE, 0)
        return weights

    def _directions(self, ids: Sequence[int]) -> Vectors:
        """Return the embeddings of pieces without the mean, each of length 1."""
        vectors: NDArray[np.float32] = self._file.word_embeddings(ids) - self._mean
        directions: Vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-6)
        return directions
