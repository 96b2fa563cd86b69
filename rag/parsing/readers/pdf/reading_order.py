"""The order in which the lines of a page are read, if the program wrote them in another one.

Programs for layout write each box of text in the order in which it was made. The order of the file is kept as far as
possible: a box is read before those below it. If many boxes of a page were written in another order, it is read before
those at its right, too.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from .text_lines import BULLETS, PageLines, TextLine
from .work_budget import WorkBudget

_MAX_LINES, _MAX_BOXES = 500, 100
# How many boxes are compared with another one in a step of the budget.
_BOXES_PER_STEP = 4
# More of them, in a longer page, are words that are scattered over it, or cells of a table.
_MAX_BOXES_PER_LINE, _FEW_BOXES = 0.5, 12
# In heights of a letter: the space between the lines of a box, and how far boxes may reach into each other.
_BETWEEN_LINES, _OVERLAP = 2.0, 0.5
# Which share of the narrower one of two boxes is above the other one, and how much larger a title is than its text.
_MIN_ABOVE, _SAME_HEIGHT = 0.3, 1.08
# In heights of a letter: the base lines of a line's parts.
_SAME_LINE = 0.3
# In heights of a letter: the space between columns. A column has so many lines, most of them with so many characters.
_GUTTER, _MIN_COLUMN_LINES, _MIN_CHARACTERS, _MIN_SHARE_OF_LONG = 1.0, 4, 10, 0.5
# Which share of the width of the page's text a box across it has.
_ACROSS = 0.6
# A part of a line with fewer letters is the label of what is beside it. Many labels are written apart from their items.
_MAX_LABEL, _MAX_SHARE_OF_LABELS = 3, 0.1


@dataclass(slots=True)
class _Box:
    """Lines that were written one after the other and are below or beside each other."""

    lines: list[TextLine]
    left: float
    right: float
    bottom: float
    top: float

    @property
    def height(self) -> float:
        return self.lines[-1].height

    def add(self, other: "_Box") -> None:
        self.lines += other.lines
        self.left, self.right = min(self.left, other.left), max(self.right, other.right)
        self.bottom, self.top = min(self.bottom, other.bottom), max(self.top, other.top)

    def overlap(self, other: "_Box") -> float:
        """Return how much of the narrower one of two boxes is above or below the other one."""
        width = min(self.right - self.left, other.right - other.left)
        return (min(self.right, other.right) - max(self.left, other.left)) / width if width > 0 else 0.0

    def is_above(self, other: "_Box") -> bool:
        return self.bottom >= other.top - _OVERLAP * other.height and self.overlap(other) >= _MIN_ABOVE

    def is_left_of(self, other: "_Box", across: Sequence["_Box"]) -> bool:
        """Return whether this box is in a column at the left of another one. What is across the page ends columns."""
        if self.right > other.left:
            return False
        low, high = (self, other) if self.top < other.top else (other, self)
        return not any(low.top <= box.bottom + _OVERLAP * box.height and box.top <= high.top for box in across)


def in_reading_order(
    page: PageLines,
    lines: Sequence[TextLine],
    rows: frozenset[int],
    tables: Sequence[frozenset[int]],
    budget: WorkBudget,
) -> tuple[list[TextLine], bool]:
    """Return the lines of a page in the order of reading, and whether the file has them in another one.

    Args:
        page: The page.
        lines: Its lines.
        rows: The numbers of the lines that may be rows of a table, which are not divided.
        tables: The numbers of the lines of each table.
        budget: For the comparison of boxes.

    Raises:
        WorkExceeded: If too many would have to be compared.
    """
    if len(lines) > _MAX_LINES or not all(page.segments(line) for line in lines):
        return list(lines), False
    if sum(_is_label(line.text) for line in lines) > _MAX_SHARE_OF_LABELS * len(lines):
        return list(lines), False
    boxes = _find_boxes(page, lines, rows, tables)
    if len(boxes) > min(_MAX_BOXES, max(_FEW_BOXES, _MAX_BOXES_PER_LINE * len(lines))):
        return list(lines), False
    budget.take(len(boxes) * (1 + len(boxes) // _BOXES_PER_STEP))
    before = [[other for other in range(len(boxes)) if boxes[other].is_above(box)] for box in boxes]
    if all(not above or above[-1] < number for number, above in enumerate(before)):
        return list(lines), False
    width = max(box.right for box in boxes) - min(box.left for box in boxes)
    across = [box for box in boxes if box.right - box.left > _ACROSS * width]
    if _has_columns([box for box in boxes if box not in across]):
        for number, box in enumerate(boxes):
            before[number] += [other for other in range(len(boxes)) if boxes[other].is_left_of(box, across)]
    return [line for number in _sorted(before) for line in boxes[number].lines], True


def _has_columns(boxes: Sequence[_Box]) -> bool:
    """Return whether there is a gap from the top to the bottom between columns of text."""
    columns: list[_Box] = []
    for box in sorted(boxes, key=lambda box: box.left):
        if columns and box.left < columns[-1].right + _GUTTER * box.height:
            columns[-1].add(replace(box, lines=list(box.lines)))
        else:
            columns.append(replace(box, lines=list(box.lines)))
    return len(columns) > 1 and all(
        len(column.lines) >= _MIN_COLUMN_LINES
        and sum(len(line.text.strip()) >= _MIN_CHARACTERS for line in column.lines)
        >= _MIN_SHARE_OF_LONG * len(column.lines)
        for column in columns
    )


def _is_label(text: str) -> bool:
    return text.strip() in BULLETS or sum(map(str.isalnum, text)) <= _MAX_LABEL


def _find_boxes(
    page: PageLines, lines: Sequence[TextLine], rows: frozenset[int], tables: Sequence[frozenset[int]]
) -> list[_Box]:
    table_of = {number: table for table, numbers in enumerate(tables) for number in numbers}
    boxes: list[_Box] = []
    for number, line in enumerate(lines):
        table = table_of.get(number)
        is_in_table = table is not None and table_of.get(number - 1) == table
        for part in _parts(page, line, is_row=table is not None or number in rows):
            is_row = number in rows and number - 1 in rows
            is_text = table is None and number - 1 not in table_of
            if boxes and (is_in_table or (is_text and _belongs_to(boxes[-1], part, is_row=is_row))):
                boxes[-1].add(part)
            else:
                boxes.append(part)
    return boxes


def _parts(page: PageLines, line: TextLine, *, is_row: bool) -> Iterator[_Box]:
    """Yield the parts of a line between wide gaps, which may be in columns beside each other."""
    segments = page.segments(line)
    if len(segments) == 1 or is_row or _is_label(segments[0].text):
        yield _Box([line], segments[0].left, segments[-1].right, line.end, line.bottom + line.height)
        return
    for segment in segments:
        part = replace(line, text=segment.text, left=segment.left, start=-1)
        yield _Box([part], segment.left, segment.right, line.end, line.bottom + line.height)


def _belongs_to(box: _Box, part: _Box, *, is_row: bool) -> bool:
    last, line = box.lines[-1], part.lines[0]
    drop = (last.end - line.bottom) / max(last.height, line.height)
    if abs(drop) <= _SAME_LINE:
        return is_row
    is_same_height = 1 / _SAME_HEIGHT < last.height / line.height < _SAME_HEIGHT
    return 0 < drop <= _BETWEEN_LINES and (is_row or is_same_height) and box.overlap(part) > 0


def _sorted(before: Sequence[Sequence[int]]) -> list[int]:
    """Return the numbers so that each is after those that are before it, else as they are."""
    order: list[int] = []
    known: set[int] = set()
    for start in range(len(before)):
        remaining = [start] if start not in known else []
        known.add(start)
        while remaining:
            following = next((number for number in sorted(before[remaining[-1]]) if number not in known), None)
            if following is None:
                order.append(remaining.pop())
            else:
                known.add(following)
                remaining.append(following)
    return order
