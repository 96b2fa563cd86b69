"""Tables of a PDF whose cells are between lines. xberg looks at the places of words only, and misses many of them.

The lines give the cells, and the text layer their texts. The place of a table in a page's text is where all of its
letters and digits are together, in whatever order; a table without such a place stays as it was read.
"""

import ctypes
import itertools
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

# Lines of drawings are not those of tables.
_MAX_LINES, _MAX_CELLS, _MAX_CELL_CHARACTERS = 1_000, 2_000, 1_000
# In points: how far apart two lines may be that count as one, and the shortest line of a table.
_TOLERANCE, _MIN_LENGTH = 3.0, 6.0
_MIN_CHARACTERS = 8
# The text of a page is compared with each of its tables.
_MAX_TABLES, _MAX_PAGE_CHARACTERS = 50, 100_000
# A hyphen at the end of a line within a word; pdfium has signs of its own for it.
_HYPHEN = re.compile(r"[\x02\ufffe]\s*|(?<=[^\W\d])-\s*\n\s*(?=[a-zà-ÿ])")
_SYNTAX = re.compile(r"([\\*_`\[\]|])")


@dataclass(frozen=True, slots=True)
class _Line:
    """A horizontal or vertical line: its place on the other axis, and where it starts and ends."""

    at: float
    start: float
    end: float


def insert_tables(content: bytes, texts: Mapping[int, str]) -> dict[int, str]:
    """Return the Markdown of each page with its tables that have lines.

    Args:
        content: The file.
        texts: Number → Markdown of each page.
    """
    try:
        with pdfium.PdfDocument(content) as document:
            return {
                number: _insert(text, document[number - 1]) if 0 < number <= len(document) and text.strip() else text
                for number, text in texts.items()
            }
    except pdfium.PdfiumError:  # xberg reads some files that pdfium does not
        return dict(texts)


def _insert(text: str, page: pdfium.PdfPage) -> str:
    if len(text) > _MAX_PAGE_CHARACTERS:
        return text
    for rows in itertools.islice(_find_tables(page), _MAX_TABLES):
        if place := _find_place(text, rows):
            start, end = place
            text = "\n\n".join(part for part in (text[:start].rstrip(), _markdown(rows), text[end:].lstrip()) if part)
    return text


def _find_tables(page: pdfium.PdfPage) -> Iterator[list[list[str]]]:
    """Yield the cells of each table of a page."""
    if page.get_rotation():
        return
    horizontal, vertical = _lines(page)
    if not (3 <= len(horizontal) <= _MAX_LINES and 3 <= len(vertical) <= _MAX_LINES):
        return
    text_page = page.get_textpage()
    for rules, columns in _grids(horizontal, vertical):
        ys, xs = _distinct([rule.at for rule in rules])[::-1], _distinct([column.at for column in columns])
        if not (len(xs) >= 3 and len(ys) >= 3 and len(xs) * len(ys) <= _MAX_CELLS):
            continue
        rows = [_row(text_page, columns, xs, top, bottom) for top, bottom in itertools.pairwise(ys)]
        rows = [row for row in rows if any(row)]
        has_columns = sum(any(column) for column in zip(*rows, strict=True)) >= 2
        if len(rows) >= 2 and has_columns and max(len(cell) for row in rows for cell in row) <= _MAX_CELL_CHARACTERS:
            yield rows


def _row(
    text_page: pdfium.PdfTextPage, columns: Sequence[_Line], xs: Sequence[float], top: float, bottom: float
) -> list[str]:
    """Return the cells of a row. A cell that spans several columns is in the first of them, the others are empty."""
    middle = (top + bottom) / 2
    separators = {
        place
        for place, x in enumerate(xs)
        if any(abs(column.at - x) <= _TOLERANCE and column.start <= middle <= column.end for column in columns)
    }
    cells = [""] * (len(xs) - 1)
    starts = [place for place in range(len(cells)) if place == 0 or place in separators]
    for first, following in itertools.pairwise([*starts, len(cells)]):
        text = text_page.get_text_bounded(left=xs[first], bottom=bottom, right=xs[following], top=top)
        cells[first] = " ".join(_HYPHEN.sub("", text).split())
    return cells


def _lines(page: pdfium.PdfPage) -> tuple[list[_Line], list[_Line]]:
    """Return the horizontal and the vertical lines of a page, those of rectangles too."""
    horizontal: list[_Line] = []
    vertical: list[_Line] = []
    for drawn in page.get_objects(filter=[pdfium_c.FPDF_PAGEOBJ_PATH], max_depth=3):
        for (x1, y1), (x2, y2) in _segments(drawn):
            if abs(y1 - y2) <= 1 and abs(x1 - x2) >= _MIN_LENGTH:
                horizontal.append(_Line((y1 + y2) / 2, min(x1, x2), max(x1, x2)))
            elif abs(x1 - x2) <= 1 and abs(y1 - y2) >= _MIN_LENGTH:
                vertical.append(_Line((x1 + x2) / 2, min(y1, y2), max(y1, y2)))
        if len(horizontal) > _MAX_LINES or len(vertical) > _MAX_LINES:
            break
    return horizontal, vertical


def _segments(drawn: pdfium.PdfObject) -> Iterator[tuple[tuple[float, float], tuple[float, float]]]:
    """Yield the straight lines of a path, as pairs of points of the page."""
    matrix = drawn.get_matrix()
    start = last = (0.0, 0.0)
    for number in range(min(pdfium_c.FPDFPath_CountSegments(drawn), 4 * _MAX_LINES)):
        segment = pdfium_c.FPDFPath_GetPathSegment(drawn, number)
        x, y = ctypes.c_float(), ctypes.c_float()
        pdfium_c.FPDFPathSegment_GetPoint(segment, x, y)
        point = matrix.on_point(x.value, y.value)
        kind = pdfium_c.FPDFPathSegment_GetType(segment)
        if kind == pdfium_c.FPDF_SEGMENT_LINETO:
            yield last, point
        elif kind == pdfium_c.FPDF_SEGMENT_MOVETO:
            start = point
        if pdfium_c.FPDFPathSegment_GetClose(segment):
            yield point, start
        last = point


def _grids(horizontal: Sequence[_Line], vertical: Sequence[_Line]) -> Iterator[tuple[list[_Line], list[_Line]]]:
    """Yield the lines of each table: those that cross or touch each other. From the top of the page downwards."""
    remaining = sorted(horizontal, key=lambda line: -line.at)
    columns_left = list(vertical)
    while remaining:
        rules, columns = [remaining.pop(0)], list[_Line]()
        has_grown = True
        while has_grown:
            new_columns = [column for column in columns_left if any(_touch(rule, column) for rule in rules)]
            columns_left = [column for column in columns_left if column not in new_columns]
            columns += new_columns
            new_rules = [rule for rule in remaining if any(_touch(rule, column) for column in new_columns)]
            remaining = [rule for rule in remaining if rule not in new_rules]
            rules += new_rules
            has_grown = bool(new_rules)
        yield rules, columns


def _touch(rule: _Line, column: _Line) -> bool:
    return (
        rule.start - _TOLERANCE <= column.at <= rule.end + _TOLERANCE
        and column.start - _TOLERANCE <= rule.at <= column.end + _TOLERANCE
    )


def _distinct(places: Sequence[float]) -> list[float]:
    """Return the places in ascending order, without those that are nearly the same."""
    distinct: list[float] = []
    for place in sorted(places):
        if not distinct or place - distinct[-1] > _TOLERANCE:
            distinct.append(place)
    return distinct


def _find_place(text: str, rows: Sequence[Sequence[str]]) -> tuple[int, int] | None:
    """Return where the text has the letters and digits of the cells together.

    Signs of Markdown around them belong to the place. None if there is no such place, or if it has headings.
    """
    letters = [character for row in rows for cell in row for character in cell if character.isalnum()]
    # xberg may have put the rows into another order.
    beginnings = tuple({"".join(filter(str.isalnum, cell))[:4] for row in rows for cell in row} - {""})
    places = [place for place, character in enumerate(text) if character.isalnum()]
    count = len(letters)
    if not _MIN_CHARACTERS <= count <= len(places):
        return None
    missing = Counter(letters)
    missing.subtract(text[place] for place in places[:count])
    wrong = sum(map(abs, missing.values()))
    for start in range(len(places) - count + 1):
        if start:
            for character, change in ((text[places[start - 1]], 1), (text[places[start + count - 1]], -1)):
                wrong -= abs(missing[character])
                missing[character] += change
                wrong += abs(missing[character])
        if wrong == 0 and _is_word_range(text, places[start], places[start + count - 1] + 1, beginnings):
            place = _widened(text, places[start], places[start + count - 1] + 1)
            return place if "\n#" not in text[place[0] : place[1]] else None
    return None


def _is_word_range(text: str, start: int, end: int, beginnings: tuple[str, ...]) -> bool:
    """Return whether whole words are there, the first of them at the beginning of a cell."""
    is_whole = not text[start - 1 : start].isalnum() and not text[end : end + 1].isalnum()
    return is_whole and "".join(filter(str.isalnum, text[start : start + 12])).startswith(beginnings)


def _widened(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a place with the rest of its first and last line, where that has no letters or digits."""
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", end) if "\n" in text[end:] else len(text)
    if not any(map(str.isalnum, text[line_start:start])):
        start = line_start
    if not any(map(str.isalnum, text[end:line_end])):
        end = line_end
    return start, end


def _markdown(rows: Sequence[Sequence[str]]) -> str:
    escaped = ([_SYNTAX.sub(r"\\\1", cell) for cell in row] for row in rows)
    lines = [f"| {' | '.join(cells)} |" for cells in escaped]
    return "\n".join([lines[0], "|" + " --- |" * len(rows[0]), *lines[1:]])
