"""Tables without lines: rows that follow each other and whose parts, between wide gaps, are in the same columns.

Only what is sure: three rows or more, and no part that reaches into two columns. Lists, contents and columns of running
text are no tables.
"""

import re
from collections.abc import Iterator, Sequence

from .table_places import has_long_cells
from .text_lines import PageLines, Segment, TextLine

_MIN_ROWS, _MAX_ROWS, _MAX_COLUMNS = 3, 500, 20
# In heights of a letter: how far apart the base lines of two rows may be.
_MAX_PITCH = 3.0
# In points: how far apart the beginnings of a cell's lines may be.
_TOLERANCE = 2.0
# What the items of a list begin with, and what leads to the page number in a table of contents.
_MARK = re.compile(r"[^\w]|\(?(?:\d{1,3}|[A-Za-z]|[ivx]{1,5})[.)]|\d{1,2}(?:\.\d{1,2}){0,3}\.?")
_SECTION = re.compile(r"(?:§ ?)?[A-Z\d]{1,3}(?:\.\d{1,3}){0,4}[.)]?")
_LEADER = re.compile(r"(?:\. ?){4}|…{2}|_{4}")


def find_aligned_tables(page: PageLines, lines: Sequence[TextLine]) -> Iterator[list[list[str]]]:
    """Yield the cells of each table without lines."""
    run: list[list[Segment]] = []
    previous: TextLine | None = None
    for line in lines:
        parts = page.segments(line)
        is_row = 2 <= len(parts) <= _MAX_COLUMNS and not _LEADER.search(line.text)
        if run and previous and _continues_cell(parts, run[-1]) and _follows(line, previous):
            run[-1] = [_joined(part, parts[0]) if _is_above(part, parts[0]) else part for part in run[-1]]
            previous = line
            continue
        if run and not (is_row and previous and _follows(line, previous) and len(run) < _MAX_ROWS):
            yield from _as_table(run)
            run = []
        if is_row:
            run.append(parts)
        previous = line
    yield from _as_table(run)


def find_rows(page: PageLines, lines: Sequence[TextLine]) -> frozenset[int]:
    """Return the numbers of the lines that have wide gaps and are next to such a line: they may be rows of a table."""
    wide = {
        number
        for number, line in enumerate(lines)
        if len(parts := page.segments(line)) > 2 or (len(parts) == 2 and not _SECTION.fullmatch(parts[0].text))
    }
    return frozenset(number for number in wide if number - 1 in wide or number + 1 in wide)


def _follows(line: TextLine, previous: TextLine) -> bool:
    """Return whether a line is the next one below, in letters of about the same size."""
    pitch = previous.bottom - line.bottom
    is_below = 0.5 * line.height < pitch <= _MAX_PITCH * max(line.height, previous.height)
    return is_below and 0.8 < line.height / previous.height < 1.25


def _continues_cell(parts: Sequence[Segment], row: Sequence[Segment]) -> bool:
    """Return whether a line is the next line of one cell of a row, but not of its first one."""
    return len(parts) == 1 and any(_is_above(part, parts[0]) for part in row[1:])


def _is_above(part: Segment, following: Segment) -> bool:
    return abs(part.left - following.left) <= _TOLERANCE


def _joined(part: Segment, following: Segment) -> Segment:
    return Segment(f"{part.text}\n{following.text}", part.left, max(part.right, following.right))


def _as_table(rows: Sequence[Sequence[Segment]]) -> Iterator[list[list[str]]]:
    """Yield the table that the rows are, else the one without the first of them, which may be its title."""
    tables = (_cells(rows[first:]) for first in (0, 1) if len(rows) - first >= _MIN_ROWS)
    if table := next(filter(None, tables), None):
        yield table


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
    return table if len(columns) >= 2 and _is_table(table) else []


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
