"""The rows, cells and headers of tables in texts."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from itertools import groupby, pairwise, zip_longest

from rag.text.markup.aligned_columns import COLUMN_GAP
from rag.text.quantities.amounts import find_amounts, parse_range
from rag.text.quantities.years import YEAR
from rag.text.sentences.quotable_units import TextUnit, UnitKind

# A border of a grid table in reStructuredText: `+---+---+`, or `+===+===+` below the header.
_GRID_BORDER = re.compile(r"\+[-=]")
_DIGIT = re.compile(r"\d")
_NUMBER, _ONLY_NUMBER = re.compile(r"\d+(?:[.,]\d+)*"), re.compile(r"[\d.,\s]+")
# More of the rows than this: the year in a header may be in a row, too.
_MIN_SHARE_OF_ROWS = 0.4
_NUMBER_FIRST = re.compile(r"[^\w\s]?\s?\d")
_YEAR = re.compile(YEAR)
# How many rows are below the header of a table that has no rule below it.
_MIN_ROWS_WITHOUT_RULE = 2
# A line within a cell that begins a note: `.. important::`.
_DIRECTIVE = re.compile(r"\.\. [\w-]+::")


def split_cells(row: str) -> list[str]:
    """Return the cells of a table's row, separated by bars, tabs or several spaces. The lines of a cell are joined."""
    first, *others = [_split_line(line) for line in row.split("\n")]
    if _has_aligned_columns(row):
        others = _below_columns(row.split("\n"))
    columns = zip_longest(first, *others, fillvalue="")
    return [" ".join(part for part in parts if part and not _DIRECTIVE.fullmatch(part)) for parts in columns]


def cells_by_column(row: str) -> dict[str, str]:
    """Return the cells of a row by the name of their column in a row of a CSV file, else by its number.

    Rows of a CSV file have no empty cells: "project: Finch | version: 2.1".
    """
    cells = split_cells(row)
    if len(cells) > 1 and not row.startswith("|") and all(": " in cell for cell in cells):
        return {name: value for name, _, value in (cell.partition(": ") for cell in cells)}
    return {str(column): cell for column, cell in enumerate(cells)}


def _below_columns(lines: Sequence[str]) -> list[list[str]]:
    """Return the cells of the lines that continue the first one: each is one cell, below the column that it is in.

    The first line has lost its indentation, so the other lines begin as far right or farther than their columns.
    """
    starts = [0, *(gap.end() for gap in COLUMN_GAP.finditer(lines[0]))]
    indentations = [len(line) - len(line.lstrip()) for line in lines[1:]]
    return [
        [*[""] * (bisect_right(starts, indentation) - 1), line.strip()]
        for indentation, line in zip(indentations, lines[1:], strict=True)
    ]


def _split_line(line: str) -> list[str]:
    if _has_aligned_columns(line):
        return COLUMN_GAP.split(line.strip())
    if "|" not in line:
        return [cell.strip() for cell in line.split("\t")]
    inner = line.strip().removeprefix("|")
    inner = inner[:-1] if inner.endswith("|") and not inner.endswith("\\|") else inner
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", inner)]


def _has_aligned_columns(row: str) -> bool:
    return "|" not in row and "\t" not in row


def join_continued_rows(text: str, units: Sequence[TextUnit]) -> list[TextUnit]:
    """Return the units, with the lines of a row whose columns are divided by spaces as one unit."""
    joined: list[TextUnit] = []
    for unit in units:
        line = text[unit.start : unit.end]
        is_continued = unit.kind is UnitKind.ROW and _has_aligned_columns(line) and not COLUMN_GAP.search(line)
        if is_continued and joined and joined[-1].kind is UnitKind.ROW and joined[-1].block == unit.block:
            joined[-1] = TextUnit(UnitKind.ROW, joined[-1].start, unit.end, unit.block)
        else:
            joined.append(unit)
    return joined


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

    Markdown has no tables without a header, so the first row of such a table is above the rule.
    In reStructuredText a rule `+---+` is below every row, and `+===+` below the header.
    """
    headers: dict[int, TextUnit] = {}
    for unit, following in pairwise(units):
        if unit.kind is UnitKind.ROW and following.kind is UnitKind.RULE and following.block == unit.block:
            is_below_any_row = text.startswith("+-", following.start)
            if not is_below_any_row:
                headers.setdefault(unit.block, unit)
    rows_by_block: dict[int, list[str]] = {block: [] for block in headers}
    for unit in units:
        if unit.kind is UnitKind.ROW and unit.block in headers and unit != headers[unit.block]:
            rows_by_block[unit.block].append(text[unit.start : unit.end])
    headers = {
        block: header
        for block, header in headers.items()
        if not _is_row(text[header.start : header.end], rows_by_block[block])
    }
    first_block = units[0].block if units else None
    for block, group in groupby(units, lambda unit: unit.block):
        rows = list(group)
        # A text may begin in the middle of a table.
        if block != first_block and all(row.kind is UnitKind.ROW for row in rows) and _begins_with_names(text, rows):
            headers[block] = rows[0]
    return headers


def _is_row(header: str, rows: Sequence[str]) -> bool:
    """Return whether what is in the place of the header is a row, because the table has no header: "Adults | $ 10".

    It has a value right of the first column, and so many rows below have one that is written the same way.
    """
    below: Counter[tuple[int, str]] = Counter()
    for row in rows:
        below.update((column, _NUMBER.sub("0", cell)) for column, cell in enumerate(split_cells(row)))
    return any(
        below[column, _NUMBER.sub("0", cell)] > _MIN_SHARE_OF_ROWS * len(rows)
        for column, cell in enumerate(split_cells(header))
        if column and _DIGIT.search(cell) and not _ONLY_NUMBER.fullmatch(cell)
    )


def _begins_with_names(text: str, rows: Sequence[TextUnit]) -> bool:
    """Return whether the first row names the columns: all cells below one of them have a number, and they have none.

    A name may be a year, or have a number behind a word above cells that begin with numbers, such as "after 20:00"
    above "5 min". A row without a name for the first column, which the rows below have, has only names.
    """
    names, *others = [split_cells(text[row.start : row.end]) for row in rows]
    if len(others) < _MIN_ROWS_WITHOUT_RULE or len({len(cells) for cells in others}) > 1:
        return False
    if len(names) == len(others[0]) - 1 and _has_aligned_columns(text[rows[0].start : rows[0].end]):
        return True
    if len(names) != len(others[0]):
        return False
    columns = list(zip(names, zip(*others, strict=True), strict=True))
    has_numbers = any(
        all(map(_DIGIT.search, cells)) and (not _DIGIT.search(name) or _YEAR.fullmatch(name)) for name, cells in columns
    )
    return has_numbers and all(
        _may_name(name, cells, is_first=not column) for column, (name, cells) in enumerate(columns)
    )


def _may_name(name: str, cells: Sequence[str], *, is_first: bool) -> bool:
    if not _DIGIT.search(name) or _YEAR.fullmatch(name):
        return True
    if is_first or find_amounts(name) or parse_range(name):
        return False
    return not _NUMBER_FIRST.match(name) and all(map(_NUMBER_FIRST.match, cells))


def _has_first_cell(text: str, line: TextUnit) -> bool:
    return bool(_split_line(text[line.start : line.end])[0])


def _is_border(text: str, unit: TextUnit) -> bool:
    return unit.kind is UnitKind.RULE and bool(_GRID_BORDER.match(text, unit.start))
