"""Which lines of a page's text a table between drawn lines consists of."""

import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from rag.parsing.readers.pdf.text_lines import TextLine

from .ruled_tables import RuledTable

# In heights of a letter: where the middle of a line is above its base line, how high the lines of a table are, and the
# headings within cells and across the table.
_MIDDLE_OF_LINE, _MAX_HEIGHTS, _HEADING_HEIGHT, _TITLE_HEIGHT = 0.3, 1.3, 1.12, 1.2
# How many words of a table may be divided in its cells, such as those with raised letters.
_MAX_OTHER_WORDS = 2
_MAX_SHARE_WITH_HEADING = 0.1


def find_lines_within(table: RuledTable, lines: Sequence[TextLine]) -> frozenset[int]:
    """Return the numbers of the lines that begin within the lines around a table."""
    return frozenset(
        number
        for number, line in enumerate(lines)
        if table.left <= line.left <= table.right
        and table.bottom < line.bottom + _MIDDLE_OF_LINE * line.height < table.top
    )


def find_lines(table: RuledTable, lines: Sequence[TextLine]) -> frozenset[int]:
    """Return the numbers of the lines that a table consists of; none if some are missing, or have other words.

    Nor if many cells have a heading above their text: these are lines around parts of a page.
    """
    numbers = find_lines_within(table, lines)
    within = [lines[number] for number in sorted(numbers)]
    has_headings = bool(_large_lines(within, _MAX_HEIGHTS))
    large = {_squeeze(line.text) for line in _large_lines(within, _HEADING_HEIGHT)} if has_headings else set()
    cells = [cell.split("\n") for row in table.rows for cell in row if cell]
    with_heading = sum(len({_squeeze(part) in large for part in cell}) > 1 for cell in cells)
    if with_heading > _MAX_SHARE_WITH_HEADING * len(cells):
        return frozenset()
    in_lines = Counter(word for number in numbers for word in lines[number].text.split())
    in_cells = Counter(word for row in table.rows for cell in row for word in cell.split())
    has_same_words = (in_lines - in_cells).total() <= _MAX_OTHER_WORDS and _letters(in_lines) == _letters(in_cells)
    return numbers if has_same_words else frozenset()


def divide_at_titles(table: RuledTable, lines: Sequence[TextLine]) -> Iterator[RuledTable]:
    """Yield the parts of a table between rows that are titles: one text, in larger type than the other cells."""
    within = [lines[number] for number in sorted(find_lines_within(table, lines))]
    titles: dict[str, list[TextLine]] = {}  # several may be equal; the highest one is the last
    for line in sorted(_large_lines(within, _TITLE_HEIGHT), key=lambda line: line.bottom):
        titles.setdefault(_squeeze(line.text), []).append(line)
    places = [
        (number, equal.pop())
        for number, row in enumerate(table.rows)
        if sum(map(bool, row)) == 1 and (equal := titles.get(_squeeze("".join(row))))
    ]
    first, top = 0, table.top
    for number, title in places:
        yield from _part(table, first, number, top, title.bottom + title.height)
        first, top = number + 1, title.bottom
    yield from _part(table, first, len(table.rows), top, table.bottom)


def _part(table: RuledTable, first: int, end: int, top: float, bottom: float) -> Iterator[RuledTable]:
    rows = table.rows[first:end]
    if len(rows) >= min(2, len(table.rows)):
        yield replace(table, rows=rows, top=top, bottom=bottom)


def _large_lines(lines: Sequence[TextLine], height: float) -> list[TextLine]:
    if not lines:
        return []
    usual = statistics.median_low(line.height for line in lines)
    return [line for line in lines if line.height > height * usual]


def _squeeze(text: str) -> str:
    return "".join(text.split())


def _letters(words: Counter[str]) -> Counter[str]:
    return Counter(character for word in words.elements() for character in word if character.isalnum())
