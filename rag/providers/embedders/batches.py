"""Batches of windows of the same length: padding would cost as much as tokens do."""

from collections.abc import Sequence


def group_by_length(lengths: Sequence[int], limit: int = 8) -> list[list[int]]:
    """Group indexes of equal lengths, at most `limit` per batch."""
    batches: list[list[int]] = []
    for index in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batches and len(batches[-1]) < limit and lengths[batches[-1][0]] == lengths[index]:
            batches[-1].append(index)
        else:
            batches.append([index])
    return batches
