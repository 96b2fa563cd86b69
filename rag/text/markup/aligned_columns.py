"""Tables in plain texts whose columns are divided by spaces: price lists, specifications, minutes."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

# Two cells of a row have at least two spaces between them, or a line of dots that leads to the second: "Tea .... 2 €".
COLUMN_GAP = re.compile(r"(?<=[^\s.])(?: *\.{4,} *| \.(?: \.)+ | \.{1,3} )(?=[^\s.])|(?<=\S) {2,}(?=\S)")
# The columns of characters that are blank in all rows of a table: at least this many beside each other.
_MIN_BLANK_COLUMNS = 2
# "3.1  The tenant pays the rent.": the number of a paragraph is no cell.
_NUMBERING = re.compile(r"\s*(?:§ ?\d{1,3}|\d{1,3}(?:\.\d{1,3})+\.?|\(\w{1,3}\)) {2,}\S")
# Fewer lines may have their spaces one below the other by chance, as in justified text.
_MIN_ROWS = 3
# Rows with more lines than this on average are paragraphs with a title beside them.
_MAX_LINES_PER_ROW = 3

_Interval = tuple[int, int]


@dataclass(slots=True)
class _Table:
    """Consecutive lines with the columns of characters that are blank in all of them.

    Attributes:
        blanks: The first column of characters of each blank strip, and its end, exclusive.
        lines: The numbers of the lines, rows and the lines that continue them.
        row_count: How many of the lines have several cells.
    """

    blanks: list[_Interval]
    lines: list[int] = field(default_factory=list)
    row_count: int = 0


def find_aligned_rows(lines: Sequence[str]) -> set[int]:
    """Return the numbers of the lines, from 0, that are rows of tables with aligned columns.

    A line that begins in the second column or behind it continues the row above. A line in the first column alone ends
    the table. It takes linear time.
    """
    rows: set[int] = set()
    table = _Table([])
    for number, line in enumerate(lines):
        gaps = [match.span() for match in COLUMN_GAP.finditer(line)][1 if _NUMBERING.match(line) else 0 :]
        blanks = _intersect(table.blanks, gaps)
        if gaps and not blanks:
            rows.update(_lines_of_table(table))
            table, blanks = _Table([]), gaps
        if gaps:
            table.blanks = blanks
            table.row_count += 1
        elif not _continues(line, table.blanks):
            rows.update(_lines_of_table(table))
            table = _Table([])
            continue
        table.lines.append(number)
    return rows | set(_lines_of_table(table))


def _lines_of_table(table: _Table) -> list[int]:
    is_table = table.row_count >= _MIN_ROWS and len(table.lines) <= _MAX_LINES_PER_ROW * table.row_count
    return table.lines if is_table else []


def _continues(line: str, blanks: Sequence[_Interval]) -> bool:
    indentation = len(line) - len(line.lstrip())
    return bool(blanks) and bool(line.strip()) and indentation >= blanks[0][0] + _MIN_BLANK_COLUMNS


def _intersect(first: Sequence[_Interval], second: Sequence[_Interval]) -> list[_Interval]:
    """Return what two ascending series of intervals have in common, without what is too narrow."""
    common: list[_Interval] = []
    left = right = 0
    while left < len(first) and right < len(second):
        start, end = max(first[left][0], second[right][0]), min(first[left][1], second[right][1])
        if end - start >= _MIN_BLANK_COLUMNS:
            common.append((start, end))
        if first[left][1] < second[right][1]:
            left += 1
        else:
            right += 1
    return common
