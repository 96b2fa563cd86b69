"""Tables of a PDF that have lines between their rows, but none between their columns, such as price lists.

A row is what is right above a line, or below the last one. Its parts, between wide gaps, are in the same columns as
those of the other rows. More than one row between two lines is no such table.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter

import pypdfium2 as pdfium

from rag.parsing.readers.pdf.text_lines import PageLines, Segment, TextLine

from . import table_places
from .grids import TOLERANCE, Line
from .ruled_tables import MAX_CELL_CHARACTERS, RuledTable, drawn_lines

_MAX_RULES, _MAX_LINES, _MAX_COLUMNS, _MIN_ROWS = 300, 500, 20, 2
# In points: how long the lines are at least.
_MIN_LENGTH = 100.0
# In heights of a letter: how far apart the base lines within a row are, and how far the last one is above its line.
_SAME_ROW, _MAX_ABOVE = 1.5, 2.5
# How many lines of a row may have several parts; of all rows on average.
_MAX_WIDE, _MAX_MEAN_WIDE = 4, 1.5


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a line of text. `at`: its base line; `number`: that of its line in the order of writing."""

    segment: Segment
    at: float
    height: float
    number: int


_Row = list[_Part]


def find_tables_with_rules(page: pdfium.PdfPage, page_lines: PageLines, lines: Sequence[TextLine]) -> list[RuledTable]:
    """Return the tables of a page, from the top downwards."""
    if len(lines) > _MAX_LINES:
        return []
    horizontal, vertical = drawn_lines(page)
    rules = [rule for rule in _joined(horizontal) if rule.end - rule.start >= _MIN_LENGTH]
    if not _MIN_ROWS <= len(rules) <= _MAX_RULES:
        return []
    parts = [
        _Part(segment, line.bottom, line.height, number)
        for number, line in enumerate(lines)
        for segment in page_lines.segments(line)
    ]
    tables = [table for group in _groups(rules) for table in _tables(group, parts)]
    return [table for table in tables if not any(_crosses(column, table) for column in vertical)]


def _joined(lines: Sequence[Line]) -> list[Line]:
    """Return the lines, those as one that word processors draw for each cell, from the top downwards."""
    joined: list[Line] = []
    for line in sorted(lines, key=lambda line: (-round(line.at), line.start)):
        last = joined[-1] if joined else None
        if last and abs(last.at - line.at) <= 1 and line.start <= last.end + TOLERANCE:
            joined[-1] = Line(last.at, last.start, max(last.end, line.end))
        else:
            joined.append(Line(line.at, line.start, line.end))
    return sorted(joined, key=lambda line: -line.at)


def _groups(rules: Sequence[Line]) -> Iterator[list[Line]]:
    """Yield the lines that begin and end at the same places, from the top downwards."""
    groups: list[list[Line]] = []
    for rule in rules:
        for group in groups:
            if abs(group[0].start - rule.start) <= TOLERANCE and abs(group[0].end - rule.end) <= TOLERANCE:
                group.append(rule)
                break
        else:
            groups.append([rule])
    yield from (group for group in groups if len(group) >= _MIN_ROWS)


def _tables(rules: Sequence[Line], parts: Sequence[_Part]) -> Iterator[RuledTable]:
    left, right = rules[0].start - TOLERANCE, rules[0].end + TOLERANCE
    within = [part for part in parts if left <= part.segment.left and part.segment.right <= right]
    run: list[_Row] = []
    above = None
    for rule, below in itertools.pairwise([*rules, None]):
        if rule is None:
            continue
        between = [part for part in within if rule.at < part.at and (above is None or part.at < above.at)]
        row = _nearest([part for part in between if part.at > rule.at], rule.at)
        if not row or not _is_near(row, rule.at, run):
            yield from _as_table(run, left, right)
            run = []
        elif len(row) < len(between):
            yield from _as_table(run, left, right)
            run = [row] if _count_wide(row) else []
        else:
            run.append(row)
        if below is None and len(run) > 1 and (last := _below(within, rule.at, run)):
            run.append(last)
        above = rule
    yield from _as_table(run, left, right)


def _nearest(parts: Sequence[_Part], rule: float) -> _Row:
    """Return the parts whose base lines follow each other closely, above a line."""
    row: _Row = []
    for part in sorted(parts, key=attrgetter("at")):
        if row and part.at - row[-1].at > _SAME_ROW * max(part.height, row[-1].height):
            break
        row.append(part)
    return row


def _is_near(row: _Row, rule: float, run: Sequence[_Row]) -> bool:
    return bool(run) or row[0].at - rule <= _MAX_ABOVE * row[0].height


def _below(parts: Sequence[_Part], rule: float, run: Sequence[_Row]) -> _Row:
    """Return the row below the last line: as far from it as other rows are from the lines above them."""
    row: _Row = []
    for part in sorted((part for part in parts if part.at < rule), key=lambda part: -part.at):
        if row and row[-1].at - part.at > _SAME_ROW * max(part.height, row[-1].height):
            break
        row.append(part)
    is_near = bool(row) and rule - row[0].at <= _MAX_ABOVE * row[0].height
    return row[::-1] if is_near and _count_wide(row) == 1 else []


def _count_wide(row: _Row) -> int:
    """Return how many base lines of a row have several parts."""
    heights = sorted(part.at for part in row)
    return sum(
        1
        for number, height in enumerate(heights[1:], 1)
        if height - heights[number - 1] <= 1 and (number == 1 or height - heights[number - 2] > 1)
    )


def _as_table(rows: Sequence[_Row], left: float, right: float) -> Iterator[RuledTable]:
    """Yield the table that the rows are, if they are one."""
    wide = [_count_wide(row) for row in rows]
    if sum(count > 0 for count in wide) < _MIN_ROWS or max(wide) > _MAX_WIDE or sum(wide) > _MAX_MEAN_WIDE * len(wide):
        return
    columns = _columns([part.segment for row in rows for part in row])
    if not 2 <= len(columns) <= _MAX_COLUMNS:
        return
    cells = [_cells(row, columns) for row in rows]
    if any(len(cell) > MAX_CELL_CHARACTERS for row in cells for cell in row):  # the text between header and footer
        return
    filled = [sum(bool(cell) for cell in column) for column in zip(*cells, strict=True)]
    if sum(count >= _MIN_ROWS for count in filled) < 2 or table_places.is_layout(cells):
        return
    bottom = min(part.at - part.height / 2 for row in rows for part in row)
    yield RuledTable(cells, left, bottom, right, max(part.at + part.height for row in rows for part in row))


def _columns(segments: Sequence[Segment]) -> list[tuple[float, float]]:
    """Return where the columns start and end: what parts cover that are above each other."""
    columns: list[tuple[float, float]] = []
    for segment in sorted(segments, key=attrgetter("left")):
        if columns and segment.left <= columns[-1][1]:
            columns[-1] = (columns[-1][0], max(columns[-1][1], segment.right))
        else:
            columns.append((segment.left, segment.right))
    return columns


def _cells(row: _Row, columns: Sequence[tuple[float, float]]) -> list[str]:
    cells: list[list[str]] = [[] for _ in columns]
    for part in sorted(row, key=lambda part: (-round(part.at), part.segment.left)):
        place = next(place for place, (left, right) in enumerate(columns) if left <= part.segment.left <= right)
        cells[place].append(part.segment.text)
    return ["\n".join(cell) for cell in cells]


def _crosses(column: Line, table: RuledTable) -> bool:
    is_within = table.left + TOLERANCE * 2 < column.at < table.right - TOLERANCE * 2
    return is_within and column.start < table.top and table.bottom < column.end
