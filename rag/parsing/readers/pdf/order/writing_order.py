"""The order in which the lines of a page were written: nearly all programs write them in the order of reading.

The few lines that were written too early or too late, such as a footer or a title, are put where their places are.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from rag.parsing.readers.pdf.text_lines import PageLines, Segment, TextLine
from rag.parsing.readers.pdf.work_budget import WorkBudget

_MAX_LINES, _LINES_PER_STEP = 500, 4
# Which share of the narrower one of two parts is above the other one, and how far, in heights of a letter.
_MIN_ABOVE, _MIN_DISTANCE = 0.3, 0.5
# Shorter texts are labels: many programs write those of a drawing, a form or a list apart from its text.
_MIN_CHARACTERS = 4
# If more lines than this share are at other places, the page was not written in the order of reading.
_MAX_MOVED, _MIN_MOVED = 0.03, 1


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a line between wide gaps; `is_fixed`: whether it stays where it is."""

    number: int
    line: TextLine
    segment: Segment
    is_fixed: bool

    def is_above(self, other: "_Part") -> bool:
        narrower = min(self.segment.right - self.segment.left, other.segment.right - other.segment.left)
        overlap = min(self.segment.right, other.segment.right) - max(self.segment.left, other.segment.left)
        top = other.line.bottom + other.line.height
        return self.line.end >= top - _MIN_DISTANCE * self.line.height and overlap >= _MIN_ABOVE * narrower > 0


def in_writing_order(
    page: PageLines, lines: Sequence[TextLine], in_tables: frozenset[int], budget: WorkBudget
) -> list[TextLine]:
    """Return the lines in the order in which they were written, but each before those below it in its column.

    Args:
        page: The page, which gets the parts of lines that are divided.
        lines: Its lines.
        in_tables: The numbers of those of tables, which stay where they are.
        budget: For the comparison of lines.

    Returns:
        The lines; none if many of them were not written in the order of reading, or a few beside a table.

    Raises:
        WorkExceeded: If too many would have to be compared.
    """
    if len(lines) > _MAX_LINES or not all(page.segments(line) for line in lines):
        return list(lines)
    parts = [
        _Part(number, line, segment, number in in_tables or sum(map(str.isalnum, line.text)) < _MIN_CHARACTERS)
        for number, line in enumerate(lines)
        for segment in page.segments(line)
    ]
    budget.take(len(parts) * (1 + len(parts) // _LINES_PER_STEP))
    moved = _find_misplaced(parts)
    if not moved:
        return list(lines)
    if in_tables or len(moved) > max(_MIN_MOVED, _MAX_MOVED * len(parts)):
        return []
    lines_of_moved = {parts[number].number for number in moved}  # titles of columns beside each other
    moved |= {number for number, part in enumerate(parts) if part.number in lines_of_moved}
    ordered = [part for number, part in enumerate(parts) if number not in moved]
    for number in sorted(moved, key=lambda number: -parts[number].line.bottom):
        _insert(parts[number], ordered)
    return _as_lines(page, ordered)


def _find_misplaced(parts: Sequence[_Part]) -> set[int]:
    """Return the numbers of few parts without which no part is above one that was written before it."""
    free = [number for number, part in enumerate(parts) if not part.is_fixed]
    against: dict[int, set[int]] = {number: set() for number in free}
    for place, number in enumerate(free):
        for other in free[:place]:
            if parts[number].is_above(parts[other]):
                against[number].add(other)
                against[other].add(number)
    misplaced: set[int] = set()
    while True:
        number = max(free, key=lambda number: (len(against[number]), number), default=-1)
        if number < 0 or not against[number]:
            return misplaced
        misplaced.add(number)
        for other in against[number]:
            against[other].discard(number)
        against[number] = set()


def _insert(part: _Part, ordered: list[_Part]) -> None:
    """Put a part before the first one below it, else after the last one above it."""
    below = next((place for place, other in enumerate(ordered) if part.is_above(other)), None)
    above = next(
        (place for place in range(len(ordered) - 1, -1, -1) if ordered[place].is_above(part)), len(ordered) - 1
    )
    ordered.insert(above + 1 if below is None else below, part)


def _as_lines(page: PageLines, parts: Sequence[_Part]) -> list[TextLine]:
    """Return the lines of these parts. Those that stayed together are one line."""
    groups: list[list[_Part]] = []
    for part in parts:
        if groups and groups[-1][-1].number == part.number:
            groups[-1].append(part)
        else:
            groups.append([part])
    lines: list[TextLine] = []
    for group in groups:
        line, segments = group[0].line, [part.segment for part in group]
        is_whole = len(segments) == len(page.segments(line))
        lines.append(line if is_whole else page.join([line] * len(segments), segments))
    return lines
