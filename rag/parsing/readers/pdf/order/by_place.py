"""The order of lines by their places, for pages whose lines were written in no order of reading.

A page is divided at the white space between columns of text, else above and below the most lines that have columns, and
so are its parts. Parts beside each other that are no columns, such as names and prices, are one line.
"""

import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rag.parsing.readers.pdf.text_lines import PageLines, Segment, TextLine
from rag.parsing.readers.pdf.work_budget import WorkBudget

_MAX_LINES, _MAX_PARTS, _MAX_COMPARISONS, _PARTS_PER_STEP = 500, 2_000, 1_000, 4
# No page has more columns of text; wide tables have.
_MAX_COLUMNS = 20
# After so many bands of text, columns are clear.
_MAX_BANDS = 6
# In heights of a letter: the space between columns, and how far apart the base lines of parts beside each other are.
_GUTTER, _SAME_LINE = 1.0, 0.5
# In heights of a letter: the lines of a paragraph, and how many characters one has that goes on in the next line.
_SAME_HEIGHT, _MAX_PITCH, _MIN_PARAGRAPH = 1.08, 1.7, 20
# The gap within a line that was written as one, if it may be that between columns.
_MIN_GAP = 2.0
# A column has so many lines, with so many characters in the median; others belong to the text beside them.
_MIN_COLUMN_LINES, _MIN_CHARACTERS = 2, 5
# Columns that have such short texts, most of them beside each other and of the same size, are those of a table.
_MAX_TABLE_CHARACTERS, _MIN_TABLE_COLUMNS, _MIN_BESIDE = 20, 3, 0.8
_MAX_LETTERS_OF_VALUE = 3


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a line between wide gaps, the lines of a paragraph, or all lines of a table."""

    lines: tuple[TextLine, ...]
    segment: Segment
    bottom: float
    top: float
    is_table: bool = False

    @property
    def is_line(self) -> bool:
        return len(self.lines) == 1 and not self.is_table

    @property
    def height(self) -> float:
        return self.lines[0].height

    @property
    def base(self) -> float:
        return self.lines[0].bottom

    @property
    def left(self) -> float:
        return self.segment.left

    @property
    def right(self) -> float:
        return self.segment.right

    @property
    def is_value(self) -> bool:
        text = self.segment.text
        return any(map(str.isdigit, text)) and sum(map(str.isalpha, text)) <= _MAX_LETTERS_OF_VALUE


def order_by_place(
    page: PageLines, lines: Sequence[TextLine], tables: Sequence[frozenset[int]], budget: WorkBudget
) -> list[TextLine]:
    """Return the lines of a page in the order of their places. Those with wide gaps may be divided or joined.

    Args:
        page: The page, which gets the parts of joined lines.
        lines: Its lines.
        tables: The numbers of the lines of each table, which stay together.
        budget: For the comparison of parts.

    Raises:
        WorkExceeded: If too many would have to be compared.
    """
    if len(lines) > _MAX_LINES or not all(page.segments(line) for line in lines):
        return list(lines)
    parts = list(_find_parts(page, lines, tables))
    if len(parts) > _MAX_PARTS:
        return list(lines)
    ordered: list[TextLine] = []
    for row in _Division(budget).rows(parts):
        segments = [part.segment for part in row]
        if not row[0].is_line or _is_whole(page, row):
            ordered += row[0].lines
        else:
            ordered.append(page.join([part.lines[0] for part in row], segments))
    return ordered


def _is_whole(page: PageLines, row: Sequence[_Part]) -> bool:
    """Return whether a row is a line as it was written."""
    known = page.segments(row[0].lines[0])
    is_one = all(part.lines == row[0].lines for part in row)
    return is_one and (row[0].left, row[-1].right) == (known[0].left, known[-1].right)


def _find_parts(page: PageLines, lines: Sequence[TextLine], tables: Sequence[frozenset[int]]) -> Iterator[_Part]:
    in_tables = frozenset[int]().union(*tables)
    for numbers in tables:
        if within := tuple(lines[number] for number in sorted(numbers)):
            segments = [segment for line in within for segment in page.segments(line)]
            left = min((segment.left for segment in segments), default=min(line.left for line in within))
            right = max((segment.right for segment in segments), default=left)
            top = max(line.bottom + line.height for line in within)
            yield _Part(within, Segment("", left, right), min(line.end for line in within), top, is_table=True)
    paragraph: _Part | None = None
    for number, line in enumerate(lines):
        segments = [] if number in in_tables else _joined(page.segments(line), _MIN_GAP * line.height)
        parts = [_Part((line,), segment, line.end, line.bottom + 0.8 * line.height) for segment in segments]
        if paragraph and len(parts) == 1 and _goes_on(paragraph, parts[0]):
            paragraph = _with_line(paragraph, parts[0])
            continue
        if paragraph:
            yield paragraph
        paragraph = parts[0] if len(parts) == 1 else None
        yield from parts[1:] if paragraph else parts
    if paragraph:
        yield paragraph


def _goes_on(paragraph: _Part, part: _Part) -> bool:
    """Return whether a line is the next one of a paragraph that was written before it."""
    line, last = part.lines[0], paragraph.lines[-1]
    pitch = (last.end - line.bottom) / line.height
    is_same_height = 1 / _SAME_HEIGHT < last.height / line.height < _SAME_HEIGHT
    is_below = part.left < paragraph.right and paragraph.left < part.right
    return len(last.text.strip()) >= _MIN_PARAGRAPH and is_same_height and is_below and 0.5 < pitch < _MAX_PITCH


def _with_line(paragraph: _Part, part: _Part) -> _Part:
    left, right = min(paragraph.left, part.left), max(paragraph.right, part.right)
    text = f"{paragraph.segment.text} {part.segment.text}"
    return _Part(paragraph.lines + part.lines, Segment(text, left, right), part.bottom, paragraph.top)


def _joined(segments: Sequence[Segment], min_gap: float) -> list[Segment]:
    """Return the segments of a line, those with a small gap between them as one."""
    joined: list[Segment] = []
    for segment in segments:
        if joined and segment.left - joined[-1].right < min_gap:
            last = joined[-1]
            joined[-1] = Segment(f"{last.text} {segment.text}", last.left, max(last.right, segment.right))
        else:
            joined.append(segment)
    return joined


class _Division:
    """The division of a page, with a limit of how often its parts are compared."""

    def __init__(self, budget: WorkBudget) -> None:
        self._left, self._budget = _MAX_COMPARISONS, budget

    def rows(self, parts: Sequence[_Part]) -> Iterator[list[_Part]]:
        """Yield the rows of some parts in the order of reading."""
        columns = self._columns(parts)
        if len(columns) > 1:
            for column in columns:
                yield from self.rows(column)
            return
        bands = _bands(parts)
        first, end = self._find_columns(bands)
        if end:
            for group in (bands[:first], bands[first:end], bands[end:]):
                yield from self.rows([part for band in group for part in band])
        else:
            yield from _rows(parts)

    def _columns(self, parts: Sequence[_Part]) -> list[list[_Part]]:
        self._left -= 1
        self._budget.take(len(parts) // _PARTS_PER_STEP if self._left >= 0 else 0)
        return _columns(parts) if self._left >= 0 and len(parts) > 1 else [list(parts)]

    def _find_columns(self, bands: Sequence[Sequence[_Part]]) -> tuple[int, int]:
        """Return the first and the end of the bands that have the most columns, and of these the most bands."""
        runs = [self._columns_from(bands, first) for first in range(len(bands))]
        _, first, end = max(runs, key=lambda place: (place[0], place[2] - place[1]), default=(0, 0, 0))
        return first, end

    def _columns_from(self, bands: Sequence[Sequence[_Part]], first: int) -> tuple[int, int, int]:
        """Return how many columns a band has with those below it, and where the bands around it with as many are."""
        parts, end, count = list(bands[first]), first + 1, 1
        while len(bands[first]) > 1 and count == 1 and end < min(len(bands), first + _MAX_BANDS):
            parts += bands[end]
            end += 1
            count = len(self._columns(parts))
        if count == 1:
            return 0, 0, 0
        while end < len(bands) and len(self._columns([*parts, *bands[end]])) >= count:
            parts += bands[end]
            end += 1
        while first > 0 and len(self._columns([*bands[first - 1], *parts])) >= count:
            first -= 1
            parts += bands[first]
        return count, first, end


def _rows(parts: Sequence[_Part]) -> Iterator[list[_Part]]:
    """Yield the parts that are beside each other, from the top to the bottom."""
    row: list[_Part] = []
    for part in sorted(parts, key=lambda part: -part.base):
        if row and (not part.is_line or not row[0].is_line or row[0].base - part.base > _SAME_LINE * row[0].height):
            yield sorted(row, key=lambda part: part.left)
            row = []
        row.append(part)
    if row:
        yield sorted(row, key=lambda part: part.left)


def _bands(parts: Sequence[_Part]) -> list[list[_Part]]:
    """Return the parts in groups with white space between them, from the top to the bottom."""
    bands: list[list[_Part]] = []
    bottom = 0.0
    for part in sorted(parts, key=lambda part: -part.top):
        if bands and part.top > bottom:
            bands[-1].append(part)
            bottom = min(bottom, part.bottom)
        else:
            bands.append([part])
            bottom = part.bottom
    return bands


def _columns(parts: Sequence[_Part]) -> list[list[_Part]]:
    """Return the columns of text with white space between them from the top to the bottom."""
    groups: list[list[_Part]] = []
    right = 0.0
    gutter = _GUTTER * statistics.median(part.height for part in parts)
    for part in sorted(parts, key=lambda part: part.left):
        if groups and part.left < right + gutter:
            groups[-1].append(part)
            right = max(right, part.right)
        else:
            groups.append([part])
            right = part.right
    if len(groups) > _MAX_COLUMNS:
        return [list(parts)]
    are_labels = bool(groups) and _has_short_texts(groups[0])  # times stand before what happens, prices behind names
    while len(groups) > 1 and (number := next((n for n, group in enumerate(groups) if not _is_column(group)), -1)) >= 0:
        firsts = [first for first in (number - 1, number) if 0 <= first < len(groups) - 1]
        if _has_short_texts(groups[number]):
            first = firsts[-1] if are_labels else firsts[0]
        else:
            first = min(firsts, key=lambda first: _gap(groups[first], groups[first + 1]))
        groups[first : first + 2] = [groups[first] + groups[first + 1]]
    return [list(parts)] if _are_of_table(groups) else groups


def _gap(group: Sequence[_Part], following: Sequence[_Part]) -> float:
    return min(part.left for part in following) - max(part.right for part in group)


def _is_column(group: Sequence[_Part]) -> bool:
    if any(part.is_table for part in group):
        return True
    return sum(len(part.lines) for part in group) >= _MIN_COLUMN_LINES and not _has_short_texts(group)


def _has_short_texts(group: Sequence[_Part]) -> bool:
    """Return whether the texts are labels or values, such as times and prices, of others beside them."""
    if any(part.is_table for part in group):
        return False
    is_short = statistics.median(len(part.segment.text) for part in group) < _MIN_CHARACTERS
    return is_short or sum(part.is_value for part in group) * 2 > len(group)


def _are_of_table(groups: Sequence[Sequence[_Part]]) -> bool:
    """Return whether these are columns of a table: several, with short texts, most of which are beside others."""
    if len(groups) < _MIN_TABLE_COLUMNS or any(part.is_table for group in groups for part in group):
        return False
    parts = [part for group in groups for part in group]
    if statistics.mean(len(part.segment.text) for part in parts) > _MAX_TABLE_CHARACTERS:
        return False
    rows = list(_rows(parts))
    heights = Counter(round(part.height) for part in parts)
    is_uniform = max(heights.values()) >= _MIN_BESIDE * len(parts)
    return is_uniform and sum(len(row) for row in rows if len(row) > 1) >= _MIN_BESIDE * len(parts)
