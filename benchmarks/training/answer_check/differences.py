"""How weights differ from the published ones, as rag/providers/entailment/answer_check_graph.py reads it."""

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


def read_trained(file: Path, published: Mapping[str, Vectors]) -> tuple[dict[str, Vectors], dict[str, Vectors]]:
    """Read what `write_differences` wrote.

    Returns:
        The weights of the layers, by name, and `weight` (1, dimensions) and `bias` (1) of the linear layer.
    """
    with np.load(file) as stored:
        arrays = {name: stored[name].astype(np.float32) for name in stored.files}
    head = {"weight": arrays.pop("head.weight").reshape(1, -1), "bias": arrays.pop("head.bias")}
    trained = {}
    for name in {name.removesuffix(".left").removesuffix(".right") for name in arrays}:
        difference = arrays[name] if name in arrays else arrays[f"{name}.left"] @ arrays[f"{name}.right"]
        trained[name] = published[name] + difference
    return trained, head


def _factorize(matrix: Vectors) -> tuple[Vectors, Vectors]:
    """Return two matrices of rank _RANK at most, whose product is the nearest to the matrix."""
    left, scales, right = np.linalg.svd(matrix, full_matrices=False)
    roots = np.sqrt(scales[:_RANK])
    return left[:, :_RANK] * roots, roots[:, None] * right[:_RANK]
