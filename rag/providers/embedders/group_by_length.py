"""Batches of windows of the same length: padding would cost as much as tokens do."""

from collections.abc import Sequence

_MAX_WINDOWS = 8


def group_by_length(lengths: Sequence[int]) -> list[list[int]]:
    """Group the indexes of windows of equal lengths, at most _MAX_WINDOWS per batch, the shortest first.

    Args:
        lengths: The length of each window, in tokens.
    """
    batches: list[list[int]] = []
    for index in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batches and len(batches[-1]) < _MAX_WINDOWS and lengths[batches[-1][0]] == lengths[index]:
            batches[-1].append(index)
        else:
            batches.append([index])
    return batches
