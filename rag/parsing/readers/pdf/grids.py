"""Grids of lines that cross or touch each other."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .work_budget import WorkBudget

# In points: how far apart two lines may be that count as one.
TOLERANCE = 3.0


@dataclass(frozen=True, slots=True)
class Line:
    """A horizontal or vertical line: its place on the other axis, and where it starts and ends."""

    at: float
    start: float
    end: float


def find_grids(
    horizontal: Sequence[Line], vertical: Sequence[Line], budget: WorkBudget
) -> Iterator[tuple[list[Line], list[Line]]]:
    """Yield the rules and the columns of each grid, from the top of the page downwards."""
    rules = sorted(horizontal, key=lambda line: -line.at)
    columns = sorted(vertical, key=lambda line: line.at)
    places = [column.at for column in columns]
    # A forest of rules and, after them, columns: those of one grid are in one tree.
    parents = list(range(len(rules) + len(columns)))

    def root_of(member: int) -> int:
        while parents[member] != member:
            parents[member] = member = parents[parents[member]]
        return member

    for number, rule in enumerate(rules):
        first = bisect_left(places, rule.start - TOLERANCE)
        following = bisect_right(places, rule.end + TOLERANCE)
        budget.take(1 + following - first)
        for place in range(first, following):
            column = columns[place]
            if column.start - TOLERANCE <= rule.at <= column.end + TOLERANCE:
                roots = root_of(number), root_of(len(rules) + place)
                parents[max(roots)] = min(roots)
    grids: dict[int, tuple[list[Line], list[Line]]] = {}
    for number, rule in enumerate(rules):
        grids.setdefault(root_of(number), ([], []))[0].append(rule)
    for place, column in enumerate(columns):
        if grid := grids.get(root_of(len(rules) + place)):
            grid[1].append(column)
    yield from grids.values()


def distinct(places: Sequence[float]) -> list[float]:
    """Return the places in ascending order, without those that are nearly the same."""
    kept: list[float] = []
    for place in sorted(places):
        if not kept or place - kept[-1] > TOLERANCE:
            kept.append(place)
    return kept
