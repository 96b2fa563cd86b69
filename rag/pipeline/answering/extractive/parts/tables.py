"""The rows, cells and headers of tables in texts."""

import re
from collections.abc import Sequence
from itertools import groupby, pairwise, zip_longest

from rag.text.quotable_units import TextUnit, UnitKind

# A border of a grid table in reStructuredText: `+---+---+`, or `+===+===+` below the header.
_GRID_BORDER = re.compile(r"\+[-=]")
_DIGIT = re.compile(r"\d")
# How many rows are below the header of a table that has no rule below it.
_MIN_ROWS_WITHOUT_RULE = 2
# A line within a cell that begins a note: `.. important::`.
_DIRECTIVE = re.compile(r"\.\. [\w-]+::")


def split_cells(row: str) -> list[str]:
    """Return the cells of a table's row, separated by bars or tabs. The lines of a cell are joined."""
    lines = [_split_line(line) for line in row.split("\n")]
    columns = zip_longest(*lines, fillvalue="")
    return [" ".join(part for part in parts if part and not _DIRECTIVE.fullmatch(part)) for parts in columns]


def _split_line(line: str) -> list[str]:
    if "|" not in line:
        return [cell.strip() for cell in line.split("\t")]
    inner = line.strip().removeprefix("|")
    inner = inner[:-1] if inner.endswith("|") and not inner.endswith("\\|") else inner
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", inner)]


def join_grid_rows(text: str, units: Sequence[TextUnit]) -> list[TextUnit]:
    """Return the units, with the lines of each row of a grid table as one unit: all lines between two borders.

    In other tables with borders, as databases print them, each line is a row.
    """
    borders = {unit for unit in units if _is_border(text, unit)}
    grids = {border.block for border in borders}
    with_header = {border.block for border in borders if text.startswith("+=", border.start)}
    joined: list[TextUnit] = []
    for (block, is_border), group in groupby(units, lambda unit: (unit.block, unit in borders)):
        lines = list(group)
        is_row = block in grids and not is_border and any(line.kind is UnitKind.ROW for line in lines)
        if is_row and (block in with_header or not any(_has_first_cell(text, line) for line in lines[1:])):
            joined.append(TextUnit(UnitKind.ROW, lines[0].start, lines[-1].end, block))
        else:
            joined += lines
    return joined


def find_headers(text: str, units: Sequence[TextUnit]) -> dict[int, TextUnit]:
    """Return the header of each table by its block: the row above a rule, or a first row of names above numbers.

    In reStructuredText a rule `+---+` is below every row, and `+===+` below the header.
    """
    headers: dict[int, TextUnit] = {}
    for unit, following in pairwise(units):
        if unit.kind is UnitKind.ROW and following.kind is UnitKind.RULE and following.block == unit.block:
            is_below_any_row = text.startswith("+-", following.start)
            if not is_below_any_row:
                headers.setdefault(unit.block, unit)
    first_block = units[0].block if units else None
    for block, group in groupby(units, lambda unit: unit.block):
        rows = list(group)
        # A text may begin in the middle of a table.
        if block != first_block and all(row.kind is UnitKind.ROW for row in rows) and _begins_with_names(text, rows):
            headers[block] = rows[0]
    return headers


def _begins_with_names(text: str, rows: Sequence[TextUnit]) -> bool:
    """Return whether the first row has no number, and the rows below have one in each cell of a column."""
    names, *others = [split_cells(text[row.start : row.end]) for row in rows]
    if len(others) < _MIN_ROWS_WITHOUT_RULE or any(len(cells) != len(names) for cells in others):
        return False
    has_numbers = [all(_DIGIT.search(cell) for cell in column) for column in zip(*others, strict=True)]
    return any(has_numbers) and not any(_DIGIT.search(name) for name in names)


def _has_first_cell(text: str, line: TextUnit) -> bool:
    return bool(_split_line(text[line.start : line.end])[0])


def _is_border(text: str, unit: TextUnit) -> bool:
    return unit.kind is UnitKind.RULE and bool(_GRID_BORDER.match(text, unit.start))
