"""Where the tables of a page are in its text, and the text with their Markdown there.

The place of a table is where the texts of its cells follow each other, row by row, or a Markdown table with the same
texts in each column. A table without such a place, or with several, stays as it was read, so that no figure is lost or
moved.
"""

import itertools
import re
from collections.abc import Iterator, Sequence

from rag.parsing.readers.pdf.work_budget import WorkBudget

# The rows of a table. The lines of a cell are lines of its text.
Rows = Sequence[Sequence[str]]

_MIN_CHARACTERS = 8
# How much of a text is searched in a step of the budget.
_CHARACTERS_PER_STEP = 200
# To compare a cell with one of a Markdown table takes longer than a step; so many rows may be in one of its rows.
_STEPS_PER_CELL, _MAX_JOINED = 20, 3
# What a table and its place have in common: letters, digits and the signs of figures, also a minus before a digit.
# Signs of Markdown and line breaks are between them.
_COMPARED = re.compile(r"(?P<gap><br ?/?>|[\s|]+)|[^\W_]|[%.,()+/\u2212±€$£]|(?<![^\W_])-(?=[.,]?\d)")
_SYNTAX = re.compile(r"([\\*_`\[\]|])")
# A hyphen at the end of a line within a word; pdfium has signs of its own for it.
_HYPHEN = re.compile(r"[\x02\ufffe]\s*|(?<=[^\W\d])-\s*\n\s*(?=[a-zà-ÿ])")
_LIST_ITEM = re.compile(r"^(?:[-–—*+•◦▪‣·\uf0b7]|[0-9]{1,3}[.)]|[a-z][.)]|[A-Z]\)) +\S", re.MULTILINE)
_PARAGRAPH_END = re.compile(r"[.!?:…]\s*\n\s*[^\W_a-zà-ÿ]")
_MAX_WORDS_OF_PARAGRAPHS = 40
_MAX_MEAN_CHARACTERS, _MIN_COUNTED_ROWS, _MIN_LINE_CHARACTERS = 30, 4, 40
_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)
_TABLE = re.compile(r"(?:^\|.*\|[ \t]*(?:\n|\Z))+", re.MULTILINE)
_SEPARATOR, _CELL_END = re.compile(r"\|[\s|:-]*\Z"), re.compile(r"(?<!\\)\|")
_ROW_WITH_NAME = re.compile(r"^\|[ \t]*[^|\s:-]", re.MULTILINE)


def insert(text: str, tables: Sequence[Rows], budget: WorkBudget) -> str:
    """Return a page's text with the Markdown of those tables that have one place there.

    Raises:
        WorkExceeded: If too much would have to be compared.
    """
    compared, places = _compared(text)
    markdown_tables = list(_markdown_tables(text))
    candidates: list[tuple[int, int, Rows]] = []
    for rows in tables:
        if sum(character.isalnum() for row in rows for cell in row for character in cell) < _MIN_CHARACTERS:
            continue
        ranges = set(_find_in_columns(rows, markdown_tables, budget))
        for first, following in _find(rows, compared, places, budget):
            start, end = _widened(text, places[first], places[following - 1] + 1)
            if not any(other[0] <= start and end <= other[1] for other in ranges):
                ranges.add((start, end))
            if len(ranges) > 1:
                break
        if len(ranges) == 1:
            candidates.append((*ranges.pop(), rows))
    kept = [
        place for place in candidates if not any(_overlap(place, other) for other in candidates if other is not place)
    ]
    kept.sort(key=lambda place: place[:2])
    parts, last = list[str](), 0
    for start, end, rows in kept:
        if _may_replace(text, start, end, rows):
            parts += [text[last:start].strip() if last else text[last:start].rstrip(), markdown(rows)]
            last = end
    return "\n\n".join(part for part in (*parts, text[last:].lstrip() if last else text) if part)


def is_layout(rows: Rows) -> bool:
    """Return whether a cell has a list or paragraphs: lines around the parts of a page, not a table."""
    return any(
        len(_LIST_ITEM.findall(cell)) >= 2
        or (len(cell.split()) > _MAX_WORDS_OF_PARAGRAPHS and _PARAGRAPH_END.search(cell))
        for row in rows
        for cell in row
    )


def count_rows(
    text: str,
    *,
    known: Sequence[Rows] = (),
    titles: frozenset[str] = frozenset(),
    lines: frozenset[str] = frozenset(),
    rows_by_place: frozenset[str] = frozenset(),
) -> int:
    """Return how many rows the Markdown tables of a text have.

    Those with few rows do not count, nor those of running text or lists: columns of a page may be read like this.

    Args:
        text: The text.
        known: Other tables. One whose words all are in one of these does not count: it is the same.
        titles: The headings of the page. A table with such a row does not count: it has parts of the page as rows.
        lines: The lines of the page without wide gaps. A table that has a long one as a row does not count: it is text.
        rows_by_place: The lines of the page as they are beside each other in its columns. If these are given, a table
            counts only if most of its rows are among them: others reach across columns of the page.
    """
    by_place = {_joined([line]) for line in rows_by_place}
    words, names = [_words(rows) for rows in known], {_joined([title]) for title in titles}
    names |= {joined for line in lines if len(joined := _joined([line])) >= _MIN_LINE_CHARACTERS}
    return sum(
        len(rows)
        for _, rows in _markdown_tables(text)
        if len(rows) >= _MIN_COUNTED_ROWS
        and not (has_long_cells(rows) or _has_items(rows) or any(_joined(row) in names for row in rows))
        and not any(_words(rows) <= others for others in words)
        and not (by_place and _reaches_across(rows, by_place))
    )


def _reaches_across(rows: Rows, by_place: set[str]) -> bool:
    several = [_joined(row) for row in rows if sum(map(bool, (cell.strip() for cell in row))) > 1]
    return sum(row in by_place for row in several) * 2 < len(several)


def _joined(row: Sequence[str]) -> str:
    return "".join("".join(row).replace("\\", "").split())


def _words(rows: Rows) -> frozenset[str]:
    return frozenset(" ".join(cell for row in rows for cell in row).split())


def _has_items(rows: Rows) -> bool:
    """Return whether most cells are items of a list, or most rows have one text, with or without a mark before it."""
    cells = [cell.strip() for row in rows for cell in row if cell.strip()]
    lone = sum(sum(any(map(str.isalnum, cell)) for cell in row) < 2 for row in rows)
    return sum(bool(_LIST_ITEM.match(cell)) for cell in cells) * 2 > len(cells) or lone * 2 > len(rows)


def has_long_cells(rows: Rows) -> bool:
    """Return whether the cells have more text than those of most tables: columns of a page look like this."""
    cells = [cell for row in rows for cell in row if cell]
    return sum(map(len, cells)) > _MAX_MEAN_CHARACTERS * len(cells)


def markdown(rows: Rows) -> str:
    """Return a table as Markdown, its first row as the header."""
    escaped = ([_SYNTAX.sub(r"\\\1", " ".join(_HYPHEN.sub("", cell).split())) for cell in row] for row in rows)
    lines = [f"| {' | '.join(cells)} |" for cells in escaped]
    return "\n".join([lines[0], "|" + " --- |" * len(rows[0]), *lines[1:]])


def _compared(text: str) -> tuple[str, list[int]]:
    """Return the characters that are compared, and the place of each in the text.

    A space between two of them counts if neither is a letter: `1 23` are not the same figures as `12 3`.
    """
    characters, places, gap = list[str](), list[int](), None
    for match in _COMPARED.finditer(text):
        if match["gap"]:
            gap = match.start()
            continue
        if gap is not None and characters and not (characters[-1].isalpha() or match[0].isalpha()):
            characters.append(" ")
            places.append(gap)
        characters.append(match[0])
        places.append(match.start())
        gap = None
    return "".join(characters), places


def _columns(rows: Rows) -> tuple[str, ...]:
    """Return the compared characters of each column."""
    return tuple(_compared(" ".join(column))[0] for column in zip(*rows, strict=True))


def _markdown_tables(text: str) -> Iterator[tuple[tuple[int, int], Rows]]:
    """Yield the Markdown tables of a text: the place of each, and its cells."""
    for table in _TABLE.finditer(text):
        lines = table[0].rstrip().split("\n")
        rows = [_CELL_END.split(line.strip())[1:-1] for line in lines if not _SEPARATOR.match(line)]
        if rows and len({len(row) for row in rows}) == 1:
            yield (table.start(), table.start() + len(table[0].rstrip())), rows


def _find_in_columns(
    rows: Rows, markdown_tables: Sequence[tuple[tuple[int, int], Rows]], budget: WorkBudget
) -> Iterator[tuple[int, int]]:
    """Yield the places of Markdown tables that have the same texts in the same columns.

    xberg may have divided a row with several lines, put rows into one, and some of them before the others.
    """
    columns = _columns(rows)
    runs = [(first, last) for first in range(len(rows)) for last in range(first, min(first + _MAX_JOINED, len(rows)))]
    numbers_of: dict[tuple[str, ...], list[range]] = {}
    for first, last in runs:
        numbers_of.setdefault(_columns(rows[first : last + 1]), []).append(range(first, last + 1))
    for place, others in markdown_tables:
        if len(others[0]) != len(rows[0]):
            continue
        budget.take(_STEPS_PER_CELL * len(others) * len(columns))
        numbers_of_rows = [numbers_of.get(_columns([row]), []) for row in others]
        budget.take(sum(map(len, numbers_of_rows)))
        if _columns(others) == columns or _same_rows(numbers_of_rows, len(rows)):
            yield place


def _same_rows(numbers_of_rows: Sequence[Sequence[range]], count: int) -> bool:
    """Return whether each row is there once. A row that several were read into has the numbers of all of them."""
    used: set[int] = set()
    for candidates in numbers_of_rows:
        free = next((numbers for numbers in candidates if used.isdisjoint(numbers)), None)
        if free is None:
            return False
        used.update(free)
    return len(used) == count


def _find(rows: Rows, compared: str, places: Sequence[int], budget: WorkBudget) -> Iterator[tuple[int, int]]:
    """Yield where the compared characters are those of the rows, in the same order."""
    readings = [_readings(row) for row in rows]
    if not (readings[0][0] and readings[-1][0]):  # where such a row is cannot be found
        return
    for reading in readings[0]:
        budget.take(1 + len(compared) // _CHARACTERS_PER_STEP)
        start = compared.find(reading)
        while start >= 0:
            end = start
            for row_readings in readings:
                budget.take(len(row_readings) + len(row_readings[0]) // _CHARACTERS_PER_STEP)
                end = _end_of_row(row_readings, compared, places, end)
                if end < 0:
                    break
            if end > 0 and all(_is_separate(compared, places, at) for at in (start, end)):
                yield start, end
            start = compared.find(reading, start + 1)


def _readings(row: Sequence[str]) -> list[str]:
    """Return how a row may have been read: cell by cell, or line by line with cells at the top, middle or bottom."""
    cells = [cell.splitlines() for cell in row if cell]
    height = max(map(len, cells))
    orders = [" ".join(itertools.chain.from_iterable(cells))]
    for share in (0.0, 0.5, 1.0) if height > 1 else ():
        lines = [
            (number + share * (height - len(cell)), column, line)
            for column, cell in enumerate(cells)
            for number, line in enumerate(cell)
        ]
        orders.append(" ".join(line for _, _, line in sorted(lines)))
    return list(dict.fromkeys(_compared(order)[0] for order in orders))


def _end_of_row(readings: Sequence[str], compared: str, places: Sequence[int], start: int) -> int:
    """Return where a row that starts here ends in the compared text, or -1. `readings`: how it may have been read."""
    if compared[start : start + 1] == " ":
        start += 1
    elif not _is_separate(compared, places, start):
        return -1
    return next((start + len(reading) for reading in readings if compared.startswith(reading, start)), -1)


def _is_separate(compared: str, places: Sequence[int], start: int) -> bool:
    """Return whether a word or figure may start here: it does not continue what is before it."""
    if not 0 < start < len(places) or " " in compared[start - 1 : start + 1]:
        return True
    return places[start] - places[start - 1] > 1


def _overlap(place: tuple[int, int, Rows], other: tuple[int, int, Rows]) -> bool:
    return place[0] < other[1] and other[0] < place[1]


def _widened(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a place with the rest of its first and last line, where that has no letters or digits."""
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", end) if "\n" in text[end:] else len(text)
    if not any(map(str.isalnum, text[line_start:start])):
        start = line_start
    if not any(map(str.isalnum, text[end:line_end])):
        end = line_end
    return start, end


def _may_replace(text: str, start: int, end: int, rows: Rows) -> bool:
    """Return whether neither headings nor rows are lost, and no row is cut.

    A row without a name continues the one before it. Names in bold type that have values beside them are no headings.
    """
    place = text[start:end]
    before = text[text.rfind("\n", 0, start) + 1 : start]
    after = text[end:].split("\n", 1)[0]
    is_cut = "|" in before or "|" in after
    return not is_cut and _has_names_only(place, rows) and len(_ROW_WITH_NAME.findall(place)) <= len(rows)


def _has_names_only(text: str, rows: Rows) -> bool:
    """Return whether the headings of a text are names in a table: what is alone in its row may be a heading."""
    titles = [_compared(title)[0] for title in _HEADING.findall(text)]
    if not titles:
        return True
    joined = [_compared(" ".join(row))[0] for row in rows]
    alone = {words for words, row in zip(joined, rows, strict=True) if sum(map(bool, row)) == 1 and words[:1].isupper()}
    names = [*_columns(rows), *joined]
    return all(title not in alone and any(title in name for name in names) for title in titles)
