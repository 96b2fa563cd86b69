"""CSV and TSV: one line per row, with the column name before each value.

So a chunk from the middle of a long table can be understood without its header.
"""

import csv
import io
import itertools
import re
import sys
from collections.abc import Iterable, Iterator, Sequence

from rag.errors import ParseFailed
from rag.parsing.encodings.decode_text import decode_text
from rag.parsing.sandbox.limits import Limits
from rag.types import ParsedDocument

_NUMBER = re.compile(r"[-+]?[\d.,' ]*\d%?$")
# What values have in common: "5 kg" and "12.5 kg", "3 May" and "14 June".
_DIGITS, _LETTERS = re.compile(r"\d(?:[\d.,']*\d)?"), re.compile(r"[^\W\d_]+")
# The first line by which Excel recognises the delimiter.
_DECLARED_DELIMITER = re.compile(r"\"?sep=([^\r\n\"])\"?\r?\n", re.I)
_SAMPLE_CHARACTERS, _SAMPLE_ROWS = 16_384, 20
_DELIMITERS = ",;\t|"
# As many as a sheet can have. Each row has all names: more would make a text many times as long as the file.
_MAX_COLUMNS = 16_384


def read_csv(content: bytes, limits: Limits) -> ParsedDocument:
    """Read a CSV or TSV file. `limits` is not needed, but all readers receive it.

    Raises:
        ParseFailed: If the file is malformed, or has too many columns.
    """
    text = decode_text(content).replace("\x00", "")
    declared = _DECLARED_DELIMITER.match(text)
    if declared:
        text = text[declared.end() :]
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=declared[1] if declared else _delimiter(text))
    earlier_limit = csv.field_size_limit(sys.maxsize)  # the limit of the whole process, so it is restored below
    try:
        return ParsedDocument(text="\n".join(_readable(rows)))
    except csv.Error as error:
        raise ParseFailed(
            f"The table cannot be read (line {rows.line_num:,}: {error}). Save it again as CSV."
        ) from None
    finally:
        csv.field_size_limit(earlier_limit)


def _readable(rows: Iterable[list[str]]) -> list[str]:
    """Return a line for each row: with the column names of the header if the table has one."""
    cleaned = ([" ".join(cell.split()) for cell in row] for row in rows)
    non_empty = (row for row in cleaned if any(row))
    head = list(itertools.islice(non_empty, _SAMPLE_ROWS))
    start = start_of_table(head)
    preamble = [" | ".join(filter(None, row)) for row in head[:start]]
    rows_of_table = itertools.chain(head[start:], non_empty)
    if start and is_row_of_data(head[start], head[start + 1 :]):
        return [*preamble, *map(" | ".join, rows_of_table)]
    return [*preamble, *_rows_of_table(rows_of_table)]


def start_of_table(rows: Sequence[list[str]]) -> int:
    """Return how many of the first rows of a file are above its table, such as its title and its date.

    They have one value, or few, above a row that has names for nearly all columns.

    Args:
        rows: The first rows that have a value, each with an empty text for a cell without one.
    """
    widths = [sum(map(bool, row)) for row in rows]
    widest = max(widths, default=0)
    start = next((number for number, width in enumerate(widths) if width > 1 and width >= widest - 1), 0)
    max_width = widest // 2 if start and _is_header(rows[start]) else 1
    # Where many rows are as short as those above, these are rows, too, and some others have further values.
    if 2 * sum(width > max_width for width in widths[start + 1 :]) <= len(rows) - start - 1:
        max_width = 1
    return start if max(widths[:start], default=0) <= max(1, max_width) and len(rows) > start + 1 else 0


def is_row_of_data(row: Sequence[str], following: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row of a table below a title is no header, as the following rows show.

    It has a value with the form of most values below it, such as a date or a weight, or one that is there again. A
    header is repeated as a whole.
    """
    below = [[other[column] for other in following if column < len(other)] for column in range(len(row))]
    columns = [(cell, [other for other in cells if other]) for cell, cells in zip(row, below, strict=True) if cell]
    repeated = sum(cell in cells for cell, cells in columns)
    return 0 < repeated < len(columns) or any(_has_form_of(cell, cells) for cell, cells in columns)


def _has_form_of(cell: str, others: Sequence[str]) -> bool:
    """Return whether a cell has the form of a value, and that of most others."""
    form = _form(cell)
    return bool(form) and 2 * sum(_form(other) == form for other in others) > len(others)


def _form(cell: str) -> str:
    """Return a value without its number, of one that begins with it also without its words; empty for a text."""
    form = _DIGITS.sub("0", cell)
    if "@" in form:  # an address
        return "@"
    if "0" not in form:
        return ""
    return form if form[0].isalpha() else _LETTERS.sub("a", form)


def _rows_of_table(non_empty: Iterator[list[str]]) -> list[str]:
    first = next(non_empty, [])
    if not _is_header(first):
        return [" | ".join(row) for row in itertools.chain([first] if first else [], non_empty)]
    columns = sum(map(bool, first))
    if columns > _MAX_COLUMNS:
        raise ParseFailed(
            f"The table has {columns:,} columns; at most {_MAX_COLUMNS:,} are read. Send it in parts with fewer "
            "columns, or with one row for each column."
        )
    lines = [_line(first, row) for row in non_empty]
    return lines or [" | ".join(first)]


def _is_header(row: list[str]) -> bool:
    names = [cell for cell in row if cell]
    return len(names) > 1 and len(set(names)) == len(names) and not any(_NUMBER.match(cell) for cell in names)


def _line(header: list[str], row: list[str]) -> str:
    # Not `zip_longest`: it would look at every column of a wide header for each short row.
    pairs = itertools.chain(zip(header, row, strict=False), (("", value) for value in row[len(header) :]))
    return " | ".join(f"{name}: {value}" if name else value for name, value in pairs if value)


def _delimiter(text: str) -> str:
    """Return the delimiter that most of the first lines have, and of several the one that occurs most often."""
    lines = [line for line in text[:_SAMPLE_CHARACTERS].splitlines() if line.strip()][:_SAMPLE_ROWS]
    if len(lines) > 1 and not any(map(lines[0].count, _DELIMITERS)):  # a title above the table
        return max(_DELIMITERS, key=lambda mark: (sum(mark in line for line in lines), "".join(lines).count(mark)))
    return max(_DELIMITERS, key=lines[0].count) if lines else _DELIMITERS[0]
