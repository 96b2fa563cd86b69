"""Turns the token vectors of a question into those of its answer, with weights that were trained.

The tokens of "How much does it cost?" are not similar to those of "It is 3 euros a month". So each token vector is
multiplied by a matrix before it is compared with the token signatures of a sentence, and has a weight. The signatures
stay as they are. `python -m benchmarks.training` trained the weights (docs/decisions/0080-answer-projection.md).
"""

import functools
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rag.types.token_vectors import TokenVectors

_FILE = Path(__file__).with_name("answer_projection.npz")


class ProjectedQuestion(NamedTuple):
    """What to compare with the tokens of an answer.

    Attributes:
        vectors: float32 (tokens of the question, dimensions), each of length 1.
        weights: How much each token counts, float32 (tokens of the question,), with the sum 1.
    """

    vectors: TokenVectors
    weights: NDArray[np.float32]


class _Parameters(NamedTuple):
    """The trained parameters: float32 (dimensions, dimensions), (dimensions,) and a number."""

    matrix: NDArray[np.float32]
    weight: NDArray[np.float32]
    bias: float


def project_question(token_vectors: TokenVectors) -> ProjectedQuestion:
    """Project the token vectors of a question, float32 (tokens, dimensions) by the local model, at least one."""
    parameters = _parameters()
    vectors = token_vectors @ parameters.matrix.T
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.float32(1e-12))
    weights = np.logaddexp(token_vectors @ parameters.weight + parameters.bias, 0).astype(np.float32)  # softplus
    return ProjectedQuestion(vectors, weights / weights.sum())


@functools.cache
def _parameters() -> _Parameters:
    with np.load(_FILE) as stored:
        return _Parameters(
            stored["matrix"].astype(np.float32), stored["weight"].astype(np.float32), float(stored["bias"])
        )
