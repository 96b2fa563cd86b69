"""Moves the multilingual model's vector of a question towards its answer, with a matrix that was trained.

The model gives texts of one meaning the same vector, in all its languages, but a question does not mean the same as its
answer. Vectors of documents stay as they are. `python -m benchmarks.training.multilingual_questions` trained the matrix
in English; it serves all languages (docs/decisions/0088-multilingual-questions.md).
"""

import functools
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rag.providers.base import Vectors

_FILE = Path(__file__).with_name("multilingual_questions.npz")


def move_towards_answer(question: Vectors) -> Vectors:
    """Return the middle between a question and what its answer is like.

    Args:
        question: The model's vector of the question, float32 (512,), of length 1.

    Returns:
        A vector of the same shape, of length 1.
    """
    return _normalized(question + _normalized(_matrix() @ question))


@functools.cache
def _matrix() -> NDArray[np.float32]:
    with np.load(_FILE) as stored:
        matrix: NDArray[np.float32] = stored["matrix"].astype(np.float32)
        return matrix


def _normalized(vector: Vectors) -> Vectors:
    normalized: Vectors = vector / max(float(np.linalg.norm(vector)), 1e-9)
    return normalized
