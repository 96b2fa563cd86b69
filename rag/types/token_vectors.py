"""How near the pieces of two texts come to each other (ColBERT's MaxSim, Khattab & Zaharia 2020), one bit a dimension.

A text's pieces are the last hidden vectors of the local model, as rows of length 1, without the two special pieces.
A passage's are stored as their signs alone, 48 bytes a piece at 384 dimensions; a question's stay as they are. What is
compared is a question's piece with the signs as a vector of length 1, so similarities are about -0.8…0.8.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

# float32 (pieces, dimensions) and uint8 (pieces, dimensions / 8).
Pieces = npt.NDArray[np.float32]
Bits = npt.NDArray[np.uint8]


def bits(pieces: Pieces) -> Bits:
    return np.packbits(pieces > 0, axis=1)


def nearest(question: Pieces, passages: Sequence[Bits]) -> Pieces:
    """(passages, the question's pieces): the best similarity of each to any piece of the passage. None may be empty.

    All passages in one product: 50 of 150 pieces take 7 ms of CPU; one by one they took 390.
    """
    starts = np.cumsum([0, *(len(each) for each in passages[:-1])])
    signs = np.unpackbits(np.concatenate(passages), axis=1, count=question.shape[1]).astype(np.float32)
    similarity = 2 * (signs @ question.T) - question.sum(axis=1)
    best = np.maximum.reduceat(similarity, starts, axis=0) / np.sqrt(question.shape[1])
    return best.astype(np.float32, copy=False)


def similarities(question: Pieces, passage: Bits) -> Pieces:
    """(the passage's pieces, the question's pieces): how near each comes to each."""
    signs = np.unpackbits(passage, axis=1, count=question.shape[1]).astype(np.float32)
    found: Pieces = (2 * (signs @ question.T) - question.sum(axis=1)) / np.float32(np.sqrt(question.shape[1]))
    return found


def maxsim(question: Pieces, passages: Sequence[Bits]) -> Pieces:
    """(passages,): the mean over the question's pieces of how near each passage comes to them. None may be empty."""
    mean: Pieces = nearest(question, passages).mean(axis=1)
    return mean


def telling(near: Pieces) -> Pieces:
    """(passages,), of what `nearest` gave: as maxsim, but each of the question's pieces counts by how much the passages
    differ in it. One that all of them come equally near to says nothing of any."""
    weights = near.std(axis=0) + np.float32(1e-3)
    mean: Pieces = near @ weights / weights.sum()
    return mean
