"""Writes how weights differ from the published ones, as rag/providers/entailment/answer_check_graph.py reads it."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from rag.providers.base import Vectors

# The 36 matrices take 2.5 MB then.
_RANK = 32
_TRAINED = "encoder."


def write_differences(
    file: Path, published: Mapping[str, Vectors], trained: Mapping[str, Vectors], head: Mapping[str, Vectors]
) -> None:
    """Write the differences in float16: of each matrix the best product of two narrow ones (Eckart and Young 1936).

    Args:
        file: The file that is written, *.npz.
        published: The weights of the published model, by name.
        trained: The weights after the training, by the same names. Those that are not of a layer are left out.
        head: `weight` and `bias` of the linear layer on the mean of the tokens. They are written as they are.
    """
    arrays: dict[str, Vectors] = {f"head.{name}": value.ravel() for name, value in head.items()}
    for name, weights in trained.items():
        if not name.startswith(_TRAINED):
            continue
        difference = weights - published[name]
        if difference.ndim == 2:
            left, right = _factorize(difference)
            arrays |= {f"{name}.left": left.astype(np.float16), f"{name}.right": right.astype(np.float16)}
        else:
            arrays[name] = difference.astype(np.float16)
    np.savez_compressed(file, **arrays)  # type: ignore[arg-type]  # no weight is named allow_pickle


def _factorize(matrix: Vectors) -> tuple[Vectors, Vectors]:
    """Return two matrices of rank _RANK at most, whose product is the nearest to the matrix."""
    left, scales, right = np.linalg.svd(matrix, full_matrices=False)
    roots = np.sqrt(scales[:_RANK])
    return left[:, :_RANK] * roots, roots[:, None] * right[:_RANK]
