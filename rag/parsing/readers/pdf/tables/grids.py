"""Grids of lines that cross or touch each other."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rag.parsing.readers.pdf.work_budget import WorkBudget

# In points: how far apart two lines may be that count as one.
TOLERANCE = 3.0
# Which share of a table's width is a whole row.
_WHOLE_ROW = 0.9


@dataclass(frozen=True, slots=True)
class Line:
    """A horizontal or vertical line: its place on the other axis, and where it starts and ends.

    `is_edge`: whether it is only where the background of something ends.
    `is_visible`: whether it can be seen: a white background ends where nothing is to be seen.
    """

    at: float
    start: float
    end: float
    is_edge: bool = False
    is_visible: bool = True


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


def without_backgrounds(rules: Sequence[Line], columns: Sequence[Line], budget: WorkBudget) -> list[Line]:
    """Return the rules of a grid without edges of backgrounds that end within a row of cells with lines around them.

    Word processors draw the background of each line of a cell. Those of whole rows end where the row ends.
    """
    drawn, sides = ([line.at for line in lines if not line.is_edge] for lines in (rules, columns))
    if len(distinct(drawn)) < 2 or len(distinct(sides)) < 2:
        return list(rules)
    width = max(sides) - min(sides)
    ordered = sorted(rules, key=lambda rule: rule.at)
    places = [rule.at for rule in ordered]
    kept = []
    for rule in rules:
        first, following = bisect_left(places, rule.at - TOLERANCE), bisect_right(places, rule.at + TOLERANCE)
        budget.take(1 + following - first)
        if not rule.is_edge or _covered(ordered[first:following]) >= _WHOLE_ROW * width:
            kept.append(rule)
    return kept


def _covered(lines: Sequence[Line]) -> float:
    """Return how much of their axis the lines cover together."""
    covered, last = 0.0, -math.inf
    for line in sorted(lines, key=lambda line: line.start):
        covered += max(0.0, line.end - max(line.start, last))
        last = max(last, line.end)
    return covered


def distinct(places: Sequence[float]) -> list[float]:
    """Return the places in ascending order, without those that are nearly the same."""
    kept: list[float] = []
    for place in sorted(places):
        if not kept or place - kept[-1] > TOLERANCE:
            kept.append(place)
    return kept
