"""Counts of what the access tests have checked, for the table of `make prove`."""

from collections import Counter

counted: Counter[str] = Counter()


def count(what: str, times: int = 1) -> None:
    counted[what] += times
