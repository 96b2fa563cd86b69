"""Tables without lines: rows that follow each other and whose parts, between wide gaps, are in the same columns.

Only what is sure: three rows or more, and no part that reaches into two columns. Lists, contents and columns of running
text are no tables.
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rag.parsing.readers.pdf.text_lines import PageLines, Segment, TextLine

from .table_places import has_long_cells

_MIN_ROWS, _MAX_ROWS, _MAX_COLUMNS = 3, 500, 20
# How many words a line has at least of which all gaps are equal, and how equal, in heights of a letter.
_MIN_SPREAD_WORDS, _SAME_GAP = 4, 0.3
# In heights of a letter: how far apart the base lines of two rows may be.
_MAX_PITCH, _MAX_LINE_PITCH = 3.0, 1.7
# In heights of a letter: how far apart the base lines of parts may be that are beside each other.
_SAME_LINE = 0.3
# How much farther than others a row without values may be below the one above.
_SAME_PITCH = 1.2
# In longer tables no row is searched for a cell that was written after them.
_MAX_SEARCHED_ROWS = 100
# In points: how far apart the beginnings of a cell's lines may be.
_TOLERANCE = 2.0
# What the items of a list begin with, and what leads to the page number in a table of contents.
_MARK = re.compile(r"[^\w]|\(?(?:\d{1,3}|[A-Za-z]|[ivx]{1,5})[.)]|\d{1,2}(?:\.\d{1,2}){0,3}\.?")
# Word's bullet may be the letter "o".
_ITEM_MARK = re.compile(r"[^\w]|o|\(?(?:\d{1,3}|[A-Za-z]{1,2}|[ivx]{1,5})[.)]")
_SECTION = re.compile(r"(?:§ ?)?[A-Z\d]{1,3}(?:\.\d{1,3}){0,4}[.)]?")
_LEADER = re.compile(r"(?:\. ?){4}|…{2}|_{4}")


@dataclass(frozen=True, slots=True)
class AlignedTable:
    """A table without lines: its cells, and the lines of the page that they were made of."""

    rows: list[list[str]]
    lines: frozenset[TextLine]


@dataclass(slots=True)
class _Cell:
    """The lines of a cell, each below the one before. `top` and `bottom`: the base lines of the first and the last."""

    parts: list[Segment]
    top: float
    bottom: float

    def joined(self) -> Segment:
        text = "\n".join(part.text for part in self.parts)
        return Segment(text, min(part.left for part in self.parts), max(part.right for part in self.parts))


@dataclass(slots=True)
class _Row:
    """Cells beside each other, from the left to the right."""

    cells: list[_Cell]
    lines: list[TextLine]

    @property
    def top(self) -> float:
        return max(cell.top for cell in self.cells)

    @property
    def bottom(self) -> float:
        return min(cell.bottom for cell in self.cells)


def find_aligned_tables(page: PageLines, lines: Sequence[TextLine]) -> Iterator[AlignedTable]:
    """Yield the tables without lines. Programs write each cell with all of its lines, and then the next one."""
    run: list[_Row] = []
    name: _Row | None = None  # of the rows that follow, if it is in their table
    for row in _find_rows(page, lines):
        if run and not name and _place(row, run):
            continue
        last = name or (run[-1] if run else None)
        if last and len(row.cells) > 1 and _follows(row, last) and len(run) < _MAX_ROWS:
            run += [name, row] if name else [row]
            name = None
        elif run and not name and _is_name(row, run):
            name = row
        else:
            yield from _as_table(run)
            run, name = [row] if len(row.cells) > 1 else [], None
    yield from _as_table(run)


def _is_name(row: _Row, rows: Sequence[_Row]) -> bool:
    """Return whether one line in the first column, as far from the row above as rows are, names the rows below."""
    if len(row.cells) != 1 or len(row.lines) != 1 or len(rows) < 2 or not _follows(row, rows[-1]):
        return False
    pitch, usual = rows[-1].bottom - row.top, rows[-2].bottom - rows[-1].top
    part, first = row.cells[0].parts[0], rows[-1].cells[0].joined()
    is_in_column = abs(part.left - first.left) <= _TOLERANCE and part.right < rows[-1].cells[1].joined().left
    return is_in_column and pitch <= _SAME_PITCH * usual


def _find_rows(page: PageLines, lines: Sequence[TextLine]) -> Iterator[_Row]:
    """Yield what may be rows: parts of lines that are beside each other, with those that continue them below."""
    row, ceiling = _Row([], []), math.inf
    for line in lines:
        parts = page.segments(line)
        if not 0 < len(parts) <= _MAX_COLUMNS or _LEADER.search(line.text):
            parts = []
        if row.cells and len(parts) == 1 and (cell := _continued_cell(row, parts[0], line)):
            cell.parts.append(parts[0])
            cell.bottom = line.bottom
        elif row.cells and parts and _is_beside(row, parts[0], line, ceiling):
            row.cells += [_Cell([part], line.bottom, line.bottom) for part in parts]
        else:
            ceiling = row.bottom if row.cells and _is_near(row, line) else math.inf
            yield row
            row = _Row([_Cell([part], line.bottom, line.bottom) for part in parts], [])
        row.lines.append(line)
    yield row


def find_rows(page: PageLines, lines: Sequence[TextLine]) -> frozenset[int]:
    """Return the numbers of the lines that have wide gaps and are next to such a line: they may be rows of a table.

    The gap behind the mark of an item is none, and neither are those of a line that is spread to the margins.
    """
    wide = {number for number, line in enumerate(lines) if _has_cells(page.segments(line), line.height)}
    return frozenset(number for number in wide if number - 1 in wide or number + 1 in wide)


def _has_cells(parts: Sequence[Segment], height: float) -> bool:
    if parts and any(mark.fullmatch(parts[0].text) for mark in (_SECTION, _ITEM_MARK)):
        parts = parts[1:]
    return len(parts) > 1 and not _is_spread(parts, height)


def _is_spread(parts: Sequence[Segment], height: float) -> bool:
    """Return whether a line is some words with equal gaps between all of them."""
    gaps = [following.left - part.right for part, following in pairwise(parts)]
    words = sum(map(str.isalpha, (part.text[:1] for part in parts)))
    is_even = max(gaps) - min(gaps) < _SAME_GAP * height
    return is_even and words >= _MIN_SPREAD_WORDS and not any(" " in part.text for part in parts)


def _continued_cell(row: _Row, part: Segment, line: TextLine) -> _Cell | None:
    """Return the cell of which a line is the next line: the last one, or one that is not the first of its row."""
    is_only = len(row.cells) == 1
    if not _is_same_height(line, row.lines[-1]):
        return None
    for place in range(len(row.cells) - 1, -1 if is_only else 0, -1):
        cell, above = row.cells[place], row.cells[place].parts[-1]
        pitch = (cell.bottom - line.bottom) / line.height
        shifts = (above.left - part.left, above.right - part.right, _middle(above) - _middle(part))
        is_below = 0.5 < pitch <= (_MAX_LINE_PITCH if is_only else _MAX_PITCH)
        if is_below and min(map(abs, shifts)) <= _TOLERANCE and _is_between(row, place, part):
            return cell
    return None


def _is_between(row: _Row, place: int, part: Segment) -> bool:
    """Return whether a part is between the cells beside the one with this number."""
    starts_after = not place or part.left > row.cells[place - 1].joined().right
    return starts_after and (place + 1 == len(row.cells) or part.right < row.cells[place + 1].joined().left)


def _middle(part: Segment) -> float:
    return (part.left + part.right) / 2


def _is_beside(row: _Row, part: Segment, line: TextLine, ceiling: float) -> bool:
    """Return whether a line is the first one of the next cell: right of the row, between its top and its bottom.

    Cells may also be in the middle of a row, so that the next one begins above them, but below the row before.
    """
    tolerance = _SAME_LINE * line.height
    is_above = line.bottom > row.top + tolerance
    is_within = row.bottom - tolerance <= line.bottom < ceiling - 0.5 * line.height
    return is_within and not (is_above and ceiling == math.inf) and part.left > row.cells[-1].joined().right


def _place(row: _Row, rows: Sequence[_Row]) -> bool:
    """Put cells that were written after their table into its rows, as sheets do, and return whether they are some."""
    if len(row.cells) != 1 or not row.lines or len(rows) > _MAX_SEARCHED_ROWS:
        return False
    tolerance = _SAME_LINE * row.lines[0].height
    if row.top < rows[-1].bottom - tolerance:
        return False
    places: list[tuple[_Row, _Cell, int]] = []
    for part, line in zip(row.cells[0].parts, row.lines, strict=True):
        target = next((other for other in reversed(rows) if other.top >= line.bottom - tolerance), None)
        if target and places and places[-1][0] is target:
            places[-1][1].parts.append(part)
            continue
        before = sum(cell.joined().right < part.left for cell in target.cells) if target else 0
        if not target or not before or any(cell.joined().left <= part.right for cell in target.cells[before:]):
            return False
        places.append((target, _Cell([part], line.bottom, line.bottom), before))
    for target, cell, before in places:
        target.cells.insert(before, cell)
        target.lines.extend(row.lines)
    return True


def _is_near(row: _Row, line: TextLine) -> bool:
    return 0.5 * line.height < row.bottom - line.bottom <= 2 * _MAX_PITCH * line.height


def _follows(row: _Row, previous: _Row) -> bool:
    """Return whether a row is the next one below, in letters of about the same size."""
    line, above = row.lines[0], previous.lines[-1]
    pitch = previous.bottom - row.top
    is_below = 0.5 * line.height < pitch <= _MAX_PITCH * max(line.height, above.height)
    return is_below and _is_same_height(line, above)


def _is_same_height(line: TextLine, above: TextLine) -> bool:
    return 0.8 < line.height / above.height < 1.25


def _as_table(rows: Sequence[_Row]) -> Iterator[AlignedTable]:
    """Yield the table that the rows are, else the one without the first of them, which may be its title."""
    for first in (0, 1):
        parts = [[cell.joined() for cell in row.cells] for row in rows[first:]]
        if len(parts) >= _MIN_ROWS and (cells := _cells(parts)):
            yield AlignedTable(cells, frozenset(line for row in rows[first:] for line in row.lines))
            return


def _cells(rows: Sequence[Sequence[Segment]]) -> list[list[str]]:
    """Return the cells of a table; nothing if the rows are none."""
    columns = _columns([part for row in rows for part in row])
    if len(columns) > _MAX_COLUMNS:
        return []
    table: list[list[str]] = []
    for row in rows:
        cells = [""] * len(columns)
        for part in row:
            number = next(place for place, (left, right) in enumerate(columns) if left <= part.left <= right)
            if cells[number]:  # two parts in one column, so the columns are not clear
                return []
            cells[number] = part.text
        table.append(cells)
    table = _with_header_above(table)
    return table if len(columns) >= 2 and _is_table(table) else []


def _with_header_above(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return the rows with each name in the header above its figures: these end at the right side of a column."""
    columns = [list(column) for column in zip(*rows, strict=True)]
    merged: list[list[str]] = []
    for column in columns:
        if merged and not column[0] and merged[-1][0] and not any(merged[-1][1:]):
            merged[-1] = [merged[-1][0], *column[1:]]
        else:
            merged.append(column)
    return [list(row) for row in zip(*merged, strict=True)]


def _columns(parts: Sequence[Segment]) -> list[tuple[float, float]]:
    """Return where the columns start and end: what parts cover that are above each other."""
    columns: list[tuple[float, float]] = []
    for part in sorted(parts, key=lambda part: part.left):
        if columns and part.left <= columns[-1][1]:
            columns[-1] = (columns[-1][0], max(columns[-1][1], part.right))
        else:
            columns.append((part.left, part.right))
    return columns


def _is_table(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the columns are filled, and are neither the marks of a list nor running text."""
    columns = list(zip(*rows, strict=True))
    filled = [[cell for cell in column if cell] for column in columns]
    if any(len(column) < 2 for column in filled) or sum(len(column) >= _MIN_ROWS for column in filled) < 2:
        return False
    if len(columns) == 2 and sum(bool(_MARK.fullmatch(cell)) for cell in columns[0]) > len(rows) / 2:
        return False
    cells = [cell for column in filled for cell in column]
    if any(cell.startswith("= ") for cell in cells):  # a program
        return False
    return not has_long_cells(rows)
