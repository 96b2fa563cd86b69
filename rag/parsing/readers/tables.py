"""CSV and TSV: a line for each row, where every value stands beside its column's name, so that a passage that is cut
out of the middle of a long table can still be understood."""

import csv
import io
import itertools
import re
import sys
from collections.abc import Iterable

from rag.errors import ParseFailed
from rag.parsing import encodings
from rag.parsing.sandbox.limits import Limits
from rag.types import ParsedDocument

_NUMBER = re.compile(r"[-+]?[\d.,' ]*\d%?$")
_SAMPLE = 16_384


def read_csv(content: bytes, limits: Limits) -> ParsedDocument:
    text = encodings.decode_text(content).replace("\x00", "")
    csv.field_size_limit(sys.maxsize)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text))
    try:
        return ParsedDocument(text="\n".join(_readable(rows)))
    except csv.Error as error:
        raise ParseFailed(
            f"The table cannot be read (line {rows.line_num:,}: {error}). Save it again as CSV."
        ) from None


def _readable(rows: Iterable[list[str]]) -> list[str]:
    cleaned = ([" ".join(cell.split()) for cell in row] for row in rows)
    filled = (row for row in cleaned if any(row))
    first = next(filled, [])
    if not _is_header(first):
        return [" | ".join(row) for row in itertools.chain([first] if first else [], filled)]
    lines = [_line(first, row) for row in filled]
    return lines or [" | ".join(first)]


def _is_header(row: list[str]) -> bool:
    named = [cell for cell in row if cell]
    return len(named) > 1 and len(set(named)) == len(named) and not any(_NUMBER.match(cell) for cell in named)


def _line(header: list[str], row: list[str]) -> str:
    pairs = itertools.zip_longest(header, row, fillvalue="")
    return " | ".join(f"{name}: {value}" if name else value for name, value in pairs if value)


def _delimiter(text: str) -> str:
    """The mark that splits the first line into most values."""
    first = next((line for line in text[:_SAMPLE].splitlines() if line.strip()), "")
    return max(",;\t|", key=first.count)
