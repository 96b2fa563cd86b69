"""Tables of a PDF whose cells are between lines. xberg looks at the places of words only, and misses many of them.

The lines give the cells, and the text layer their texts. `table_places` finds where a table is in a page's text; a
table without such a place stays as it was read.
"""

import ctypes
import itertools
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from rag.parsing.readers.pdf.letters.cell_texts import CellTexts
from rag.parsing.readers.pdf.letters.right_to_left import is_right_to_left
from rag.parsing.readers.pdf.work_budget import WorkBudget

from . import table_places
from .grids import TOLERANCE, Line, distinct, find_grids, without_backgrounds

# Lines of drawings are not those of tables.
_MAX_LINES, _MAX_CELLS, MAX_CELL_CHARACTERS = 1_000, 2_000, 1_000
_MAX_PATHS = 20_000
# With how many backgrounds that were drawn before it another one is compared.
_MAX_AREAS = 50
_WHITE = 255, 255, 255
_POINTS_OF_RECTANGLE = (4, 5)
# In points: the shortest line of a table.
_MIN_LENGTH = 6.0
# In points: the smallest cell of a form, or at the side of a table without a line, and how many lines end there.
_MIN_CELL, _MIN_OPEN = 10.0, 2
# In points: how far the background of a cell may be from that of its text, which some programs draw in addition.
_MIN_AREA, _MAX_PADDING = 3.0, 12.0
# Names of columns and two empty rows below them.
_MIN_ROWS_OF_FORM = 3
# The letters of a value: "40 km", "EUR 3.50".
_MAX_LETTERS_OF_UNIT = 3
_MAX_BOXES = 5_000
# How many steps it takes to read the place of a character.
_STEPS_PER_CHARACTER = 5


@dataclass(frozen=True, slots=True)
class RuledTable:
    """The cells of a table, whose lines are still separate, and where it is on its page, in points."""

    rows: list[list[str]]
    left: float
    bottom: float
    right: float
    top: float


def find_ruled_tables(page: pdfium.PdfPage, budget: WorkBudget) -> Iterator[RuledTable]:
    """Yield the tables of a page."""
    if page.get_rotation():
        return
    horizontal, vertical = drawn_lines(page)
    if not (_MIN_OPEN <= len(horizontal) <= _MAX_LINES and _MIN_OPEN <= len(vertical) <= _MAX_LINES):
        return
    text_page = page.get_textpage()
    texts: CellTexts | None = None
    for lines, columns in find_grids(horizontal, vertical, budget):
        if not any(column.is_visible for column in columns):  # the white backgrounds of lines of text
            continue
        rules = without_backgrounds(lines, columns, budget)
        ys = distinct([*(rule.at for rule in rules), *_open_sides(columns, rules)])[::-1]
        xs = distinct([*(column.at for column in columns), *_open_sides(rules, columns)])
        if not (len(xs) >= 3 and len(ys) >= 3 and len(xs) * len(ys) <= _MAX_CELLS):
            continue
        if not texts:
            budget.take(_STEPS_PER_CHARACTER * text_page.count_chars())
            texts = CellTexts(text_page)
        budget.take(len(ys) * len(columns) + len(xs) * len(ys))
        columns_at = [[column for column in columns if abs(column.at - x) <= TOLERANCE] for x in xs]
        rows = [_row(texts, columns_at, xs, top, bottom) for top, bottom in itertools.pairwise(ys)]
        if any("\n" in cell for row in rows for cell in row):
            budget.take(len(xs) * sum(_count_lines(row) for row in rows))
            places = _line_places(text_page, xs[0], xs[-1])
            bounds = itertools.pairwise(ys)
            rows = [
                part
                for (top, bottom), row in zip(bounds, rows, strict=True)
                for part in _divide(texts, columns_at, xs, row, [at for at in places if bottom <= at[1] < top])
            ]
        is_form = _is_form(rows, xs)
        rows = _without_empty_cells(rows)
        has_columns = len(rows[0]) >= 2 if rows else False
        has_short_cells = all(len(cell) <= MAX_CELL_CHARACTERS for row in rows for cell in row)
        if all(line.is_edge for line in (*rules, *columns)):  # words with a background are not cells
            has_columns = sum(sum(map(bool, row)) > 1 for row in rows) * 2 >= len(rows)
        if (len(rows) >= 2 or is_form) and has_columns and has_short_cells and not table_places.is_layout(rows):
            is_reversed = is_right_to_left("".join(cell for row in rows for cell in row))
            rows = [row[::-1] for row in rows] if is_reversed else rows
            yield RuledTable(rows, xs[0], ys[-1], xs[-1], ys[0])


def _row(
    texts: CellTexts,
    columns_at: Sequence[Sequence[Line]],
    xs: Sequence[float],
    top: float,
    bottom: float,
) -> list[str]:
    """Return the cells of a row. A cell that spans several columns is in the first of them, the others are empty."""
    middle = (top + bottom) / 2
    cells = [""] * (len(xs) - 1)
    starts = [
        place
        for place in range(len(cells))
        if place == 0 or any(column.start <= middle <= column.end for column in columns_at[place])
    ]
    edges = [xs[place] for place in [*starts, len(cells)]]
    for first, text in zip(starts, texts.row(edges, top, bottom), strict=True):
        cells[first] = "\n".join(line.strip() for line in text.splitlines() if line.strip())
    return cells


def _is_form(rows: Sequence[Sequence[str]], xs: Sequence[float]) -> bool:
    """Return whether only one row has texts, and most of its cells do: names of columns above rows to fill in."""
    filled = [row for row in rows if any(row)]
    if len(rows) < _MIN_ROWS_OF_FORM or len(filled) != 1:
        return False
    widths = (right - left for left, right in itertools.pairwise(xs))  # small and empty: within a double line
    cells = [cell for cell, width in zip(filled[0], widths, strict=True) if cell or width >= _MIN_CELL]
    return sum(map(bool, cells)) * 2 > len(cells)


def _without_empty_cells(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return the rows without those and the columns that are empty, such as the space within a double line."""
    columns = [any(column) for column in zip(*rows, strict=True)]
    return [list(itertools.compress(row, columns)) for row in rows if any(row)]


def _count_lines(row: Sequence[str]) -> int:
    return 1 + max(cell.count("\n") for cell in row)


def _line_places(text_page: pdfium.PdfTextPage, left: float, right: float) -> list[tuple[float, float]]:
    """Return the top and the bottom of each line of text between these edges, from the top of the page downwards."""
    boxes = map(text_page.get_rect, range(min(text_page.count_rects(), _MAX_BOXES)))
    between = sorted((top, bottom) for start, bottom, end, top in boxes if left < (start + end) / 2 < right)
    places: list[tuple[float, float]] = []
    for top, bottom in reversed(between):
        if places and (top + bottom) / 2 > places[-1][1]:
            places[-1] = places[-1][0], min(bottom, places[-1][1])
        else:
            places.append((top, bottom))
    return places


def _divide(
    texts: CellTexts,
    columns_at: Sequence[Sequence[Line]],
    xs: Sequence[float],
    row: list[str],
    places: Sequence[tuple[float, float]],
) -> list[list[str]]:
    """Return the rows between two lines of a table that has no line between its rows, such as that of an invoice.

    Each line of text is a row if it begins in the first column, has a value in a column where all have one, and has no
    cell that continues a sentence. Else the row is returned as it is: its cells are wrapped.
    """
    if not 2 <= _count_lines(row) == len(places) or not row[0]:
        return [row]
    divided = [_row(texts, columns_at, xs, top, bottom) for top, bottom in places]
    cells = [cell for part in divided for cell in part if cell]
    begin_anew = all("\n" not in cell and (cell[0].isupper() or not cell[0].isalpha()) for cell in cells)
    has_values = any(all(map(_is_value, column)) for column in list(zip(*divided, strict=True))[1:])
    return divided if begin_anew and has_values and all(part[0] for part in divided) else [row]


def _is_value(cell: str) -> bool:
    return any(map(str.isdigit, cell)) and sum(map(str.isalpha, cell)) <= _MAX_LETTERS_OF_UNIT


def _open_sides(lines: Sequence[Line], crossing: Sequence[Line]) -> Iterator[float]:
    """Yield where several lines of a table start and end if no line across is there: the table is open at this side."""
    if len(crossing) < _MIN_OPEN:
        return
    first, last = min(line.at for line in crossing), max(line.at for line in crossing)
    starts = [line.start for line in lines if line.start < first - _MIN_CELL]
    ends = [line.end for line in lines if line.end > last + _MIN_CELL]
    if starts and sum(start - min(starts) <= TOLERANCE for start in starts) >= _MIN_OPEN:
        yield min(starts)
    if ends and sum(max(ends) - end <= TOLERANCE for end in ends) >= _MIN_OPEN:
        yield max(ends)


def drawn_lines(page: pdfium.PdfPage) -> tuple[list[Line], list[Line]]:
    """Return the horizontal and the vertical lines of a page, those of rectangles too."""
    horizontal: list[Line] = []
    vertical: list[Line] = []
    paths = list(itertools.islice(page.get_objects(filter=[pdfium_c.FPDF_PAGEOBJ_PATH], max_depth=3), _MAX_PATHS))
    areas = deque[tuple[float, float, float, float]](maxlen=_MAX_AREAS)
    for drawn in paths:
        bounds = _area(drawn)
        if bounds and any(_is_within_padding(bounds, area) for area in areas):
            continue
        if bounds:
            areas.append(bounds)
        is_visible = not bounds or _fill(drawn) != _WHITE
        for (x1, y1), (x2, y2) in _segments(drawn):
            if abs(y1 - y2) <= 1 and abs(x1 - x2) >= _MIN_LENGTH:
                horizontal.append(Line((y1 + y2) / 2, min(x1, x2), max(x1, x2), bool(bounds), is_visible))
            elif abs(x1 - x2) <= 1 and abs(y1 - y2) >= _MIN_LENGTH:
                vertical.append(Line((x1 + x2) / 2, min(y1, y2), max(y1, y2), bool(bounds), is_visible))
        if len(horizontal) > _MAX_LINES or len(vertical) > _MAX_LINES:
            break
    return horizontal, vertical


def _area(drawn: pdfium.PdfObject) -> tuple[float, float, float, float] | None:
    """Return left, bottom, right and top of what is filled and has no line around it, but is no line itself."""
    mode, is_stroked = ctypes.c_int(), ctypes.c_int()
    pdfium_c.FPDFPath_GetDrawMode(drawn, mode, is_stroked)
    left, bottom, right, top = drawn.get_bounds()
    is_area = right - left > _MIN_AREA and top - bottom > _MIN_AREA
    return (left, bottom, right, top) if is_area and mode.value and not is_stroked.value else None


def _fill(drawn: pdfium.PdfObject) -> tuple[int, int, int]:
    red, green, blue, alpha = (ctypes.c_uint() for _ in range(4))
    pdfium_c.FPDFPageObj_GetFillColor(drawn, red, green, blue, alpha)
    return red.value, green.value, blue.value


def _is_within_padding(bounds: tuple[float, float, float, float], area: tuple[float, float, float, float]) -> bool:
    left, bottom, right, top = bounds
    is_inside = area[1] - 1 <= bottom and top <= area[3] + 1
    return is_inside and _MIN_AREA < left - area[0] < _MAX_PADDING and _MIN_AREA < area[2] - right < _MAX_PADDING


def _is_polygon(drawn: pdfium.PdfObject, count: int) -> bool:
    """Return whether a path goes on straight from its first point to its last one: two dashes of a path do not."""
    segments = (pdfium_c.FPDFPath_GetPathSegment(drawn, number) for number in range(1, count))
    return all(pdfium_c.FPDFPathSegment_GetType(segment) == pdfium_c.FPDF_SEGMENT_LINETO for segment in segments)


def _segments(drawn: pdfium.PdfObject) -> Iterator[tuple[tuple[float, float], tuple[float, float]]]:
    """Yield the straight lines of a path, as pairs of points of the page."""
    count = pdfium_c.FPDFPath_CountSegments(drawn)
    left, bottom, right, top = drawn.get_bounds()
    is_narrow = min(right - left, top - bottom) <= 1
    if is_narrow and count in _POINTS_OF_RECTANGLE and _is_polygon(drawn, count):  # Word draws its lines as rectangles
        x, y = (left + right) / 2, (bottom + top) / 2
        yield ((left, y), (right, y)) if right - left > top - bottom else ((x, bottom), (x, top))
        return
    matrix = drawn.get_matrix()
    start = last = (0.0, 0.0)
    for number in range(min(count, 4 * _MAX_LINES)):
        segment = pdfium_c.FPDFPath_GetPathSegment(drawn, number)
        x_read, y_read = ctypes.c_float(), ctypes.c_float()
        pdfium_c.FPDFPathSegment_GetPoint(segment, x_read, y_read)
        point = matrix.on_point(x_read.value, y_read.value)
        kind = pdfium_c.FPDFPathSegment_GetType(segment)
        if kind == pdfium_c.FPDF_SEGMENT_LINETO:
            yield last, point
        elif kind == pdfium_c.FPDF_SEGMENT_MOVETO:
            start = point
        if pdfium_c.FPDFPathSegment_GetClose(segment):
            yield point, start
        last = point
