"""The tables of Word documents of Office 97 to 2003 (MS-DOC), whose cells xberg writes as lines and tabs."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from rag.parsing.markdown_builder import write_table

from .word_paragraphs import LegacyParagraph

# A table of layout has rows of one cell, or whole texts in its cells.
_MIN_CELLS, _MIN_ROWS, _MAX_CELL_CHARACTERS = 2, 2, 1_000
# Each table that is not found costs a search to the end of the text, and each wrong place a look at all of its cells.
_MAX_NOT_FOUND, _MAX_WRONG_PLACES = 20, 100
_WORD = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class LegacyTable:
    """A table: its rows, and the number of the paragraph behind it."""

    rows: tuple[tuple[str, ...], ...]
    following: int

    @property
    def markdown(self) -> str:
        """The table as Markdown. Its first row is the header."""
        return write_table(self.rows)


def find_tables(paragraphs: Sequence[LegacyParagraph]) -> Iterator[LegacyTable]:
    """Yield the tables in the order of the text."""
    rows, cells, texts = list[tuple[str, ...]](), list[str](), list[str]()
    for number, paragraph in enumerate(paragraphs):
        if not paragraph.properties.in_table:
            if rows:
                yield LegacyTable(tuple(rows), number)
            rows, cells, texts = [], [], []
        elif paragraph.properties.ends_row:
            rows.append(tuple(cells))
            cells, texts = [], []
        else:
            texts.append(paragraph.text)
            if paragraph.ends_cell:
                cells.append(" ".join(filter(None, texts)))
                texts = []
    if rows:
        yield LegacyTable(tuple(rows), len(paragraphs))


def split_at_tables(text: str, tables: Sequence[LegacyTable]) -> Iterator[str | LegacyTable]:
    """Yield the parts of a text, and the tables between them instead of their text.

    Tables of layout, and those whose text is not found, stay text.

    Args:
        text: The text as xberg reads it.
        tables: The tables in the order of the text.
    """
    shown = [table for table in tables if _is_shown(table)]
    words = list(_WORD.finditer(text)) if shown else []
    # Where each word begins if there were no spaces between them.
    starts = list(accumulate((len(word[0]) for word in words), initial=0))
    begins, squeezed = frozenset(starts), "".join(word[0] for word in words)
    end, after, not_found, wrong_places = 0, 0, 0, 0
    for table in shown:
        if not_found == _MAX_NOT_FOUND:
            break
        cells = ["".join(cell.split()) for row in table.rows for cell in row]
        letters, cuts = "".join(cells), list(accumulate(map(len, cells), initial=0))
        place = squeezed.find(letters, after)
        # The same letters may be within words before the table: each cell begins where a word does.
        while place >= 0 and not all(place + cut in begins for cut in cuts):
            wrong_places += 1
            place = squeezed.find(letters, place + 1) if wrong_places < _MAX_WRONG_PLACES else -1
        if place < 0:
            not_found += 1
            continue
        first, last = bisect_left(starts, place), bisect_left(starts, place + len(letters)) - 1
        yield text[end : words[first].start()]
        yield table
        end, after = words[last].end(), place + len(letters)
    yield text[end:]


def _is_shown(table: LegacyTable) -> bool:
    filled = [[cell for cell in row if cell] for row in table.rows]
    is_short = all(len(cell) <= _MAX_CELL_CHARACTERS for row in filled for cell in row)
    return is_short and sum(len(row) >= _MIN_CELLS for row in filled) >= _MIN_ROWS
