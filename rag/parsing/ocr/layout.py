"""Orders recognised lines: columns, paragraphs, headings and tables."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from rag.parsing.markdown_builder import MarkdownBuilder

from .lines import Line

# In heights of a line:
_COLUMN_GAP = 1.0  # the minimum space between two columns, and between two cells of a row
_PARAGRAPH_GAP = 0.75  # the minimum space between two paragraphs
_SAME_ROW = 0.5  # how far the middles of two parts of a row may be apart
_HEADING_SIZE = 1.25
_TITLE_SIZE = 1.75
# Columns of text have at least this many lines, most of them with this many characters; others are cells of a table.
_MIN_COLUMN_LINES, _MIN_COLUMN_CHARACTERS, _MIN_SHARE_OF_LONG_LINES = 3, 15, 0.75
_MAX_HEADING_CHARACTERS = 120
# A first line of a paragraph is its heading if it has at most this share of the width of the second line.
_MAX_HEADING_WIDTH, _MAX_HEADING_WORDS = 0.6, 6
_HEADING_LINE = re.compile(r"(?:\d{1,2}(?:\.\d{1,2}){0,3}[.)]? |§ ?\d{1,3} )?[^\W\d_][^.:;,!]*\Z")
# What begins an item of a list, after another one, the end of a sentence or a line that announces it.
_ITEM, _END_BEFORE_ITEM = re.compile(r"(?:\(?(?:\d{1,2}|[a-z])[.)]|[•●○■▪–-]) ?[^\W\d_]"), re.compile(r"[.;:!?)]\Z")
# A line alone in capitals is a heading.
_CAPITALS, _MIN_CAPITALS = re.compile(r"[^.:;!?]*[^\W\d_] +[^\W\d_]{2}[^.:;!?]*\Z"), 8
_WORD = re.compile(r"[^\W\d_]")
_HYPHENATED = re.compile(r"[^\W\d_]-$")


@dataclass(frozen=True, slots=True)
class LinePart:
    """A part of a line, the sides of its horizontal box in pixels, and the recognised lines that it consists of."""

    text: str
    left: float
    right: float
    top: float
    bottom: float
    lines: tuple[Line, ...]

    @property
    def height(self) -> float:
        """Height in pixels."""
        return self.bottom - self.top

    @property
    def middle(self) -> float:
        """The height of its middle on the page."""
        return (self.top + self.bottom) / 2


Row = list[LinePart]


def add_lines(builder: MarkdownBuilder, lines: Sequence[Line]) -> list[Line]:
    """Add the text of a page to a document: paragraphs, headings and tables. Returns the lines in reading order."""
    if not lines:
        return []
    parts = _straighten(lines)
    # Shorter lines have smaller boxes, so that the size of type is judged by the longer half of the lines.
    longest = sorted(parts, key=lambda part: len(part.text))[len(parts) // 2 :]
    size = median(part.height for part in longest)
    ordered: list[Line] = []
    for region in _regions(parts, size):
        rows = [_join_near(row) for row in _rows(region)]
        _add_region(builder, rows, size)
        ordered += (line for row in rows for part in row for line in part.lines)
    return ordered


def join_lines(lines: Iterable[str]) -> str:
    """Join the lines of a paragraph, and words that are divided between two lines."""
    text = ""
    for line in lines:
        is_split = _HYPHENATED.search(text) and line[:1].islower()
        text = text[:-1] + line if is_split else f"{text} {line}".strip()
    return text


def _straighten(lines: Sequence[Line]) -> list[LinePart]:
    """Rotate the boxes of the lines by the median of their angles, so that the lines are horizontal."""
    slope = median(line.box.angle for line in lines)
    parts = []
    for line in lines:
        box = line.box
        x, y = box.x + box.y * slope, box.y - box.x * slope
        across, up = box.width / 2, box.height / 2
        parts.append(LinePart(line.text, x - across, x + across, y - up, y + up, (line,)))
    return parts


def _regions(parts: list[LinePart], size: float) -> Iterator[list[LinePart]]:
    """Yield regions of the page in reading order: columns of text are separate regions (recursive XY cut)."""
    if cut := _column_cut(parts, size):
        yield from _regions([part for part in parts if part.right <= cut], size)
        yield from _regions([part for part in parts if part.right > cut], size)
        return
    # What spans the page separates columns above it from columns below it.
    for gap in _gaps([(part.top, part.bottom) for part in parts], _PARAGRAPH_GAP * size):
        above = [part for part in parts if part.bottom <= gap]
        below = [part for part in parts if part.bottom > gap]
        if _column_cut(above, size) or _column_cut(below, size):
            yield from _regions(above, size)
            yield from _regions(below, size)
            return
    yield parts


def _column_cut(parts: list[LinePart], size: float) -> float | None:
    """Return where two columns of text meet, if there are two."""
    for gap in _gaps([(part.left, part.right) for part in parts], _COLUMN_GAP * size):
        sides = [part for part in parts if part.right <= gap], [part for part in parts if part.right > gap]
        if all(_is_text_column(side) for side in sides):
            return gap
    return None


def _is_text_column(parts: list[LinePart]) -> bool:
    long = sum(len(part.text) >= _MIN_COLUMN_CHARACTERS for part in parts)
    return len(_rows(parts)) >= _MIN_COLUMN_LINES and long >= _MIN_SHARE_OF_LONG_LINES * len(parts)


def _gaps(intervals: list[tuple[float, float]], least: float) -> list[float]:
    """Return the ends of intervals that are followed by a gap of this size."""
    gaps, end = [], None
    for start, stop in sorted(intervals):
        if end is not None and start - end >= least:
            gaps.append(end)
        end = stop if end is None else max(end, stop)
    return gaps


def _rows(parts: Sequence[LinePart]) -> list[Row]:
    """Group the parts that are side by side, from left to right."""
    rows: list[Row] = []
    for part in sorted(parts, key=lambda part: part.middle):
        previous = rows[-1][-1] if rows else None
        if previous and part.middle - previous.middle <= _SAME_ROW * min(part.height, previous.height):
            rows[-1].append(part)
        else:
            rows.append([part])
    return [sorted(row, key=lambda part: part.left) for row in rows]


def _add_region(builder: MarkdownBuilder, rows: list[Row], size: float) -> None:
    start = 0
    while start < len(rows):
        end = start
        while end < len(rows) and len(rows[end]) > 1:
            end += 1
        if end - start >= 2:
            builder.add_table(_cells(rows[start:end]))
        else:
            end = _paragraph_end(rows, start, size)
            _add_paragraphs(builder, rows[start:end], size)
        start = end


def _join_near(row: Row) -> Row:
    """Join the parts of a row that are as near as words."""
    joined: Row = []
    for part in row:
        if joined and part.left - joined[-1].right < _COLUMN_GAP * max(part.height, joined[-1].height):
            last = joined.pop()
            top, bottom = min(last.top, part.top), max(last.bottom, part.bottom)
            text, lines = f"{last.text} {part.text}", last.lines + part.lines
            joined.append(LinePart(text, last.left, part.right, top, bottom, lines))
        else:
            joined.append(part)
    return joined


def _cells(rows: list[Row]) -> list[list[str]]:
    """Return the cells of a table: parts that overlap in width are one column."""
    # Rows with the most cells show the columns: a cell of other rows may span several.
    largest = max(len(row) for row in rows)
    columns: list[tuple[float, float]] = []
    for left, right in sorted((part.left, part.right) for row in rows if len(row) == largest for part in row):
        if columns and left < columns[-1][1]:
            columns[-1] = columns[-1][0], max(columns[-1][1], right)
        else:
            columns.append((left, right))
    table = []
    for row in rows:
        cells = [""] * len(columns)
        for part in row:
            overlaps = [min(part.right, right) - max(part.left, left) for left, right in columns]
            column = overlaps.index(max(overlaps))
            cells[column] = f"{cells[column]} {part.text}".strip()
        table.append(cells)
    return table


def _paragraph_end(rows: list[Row], start: int, size: float) -> int:
    end = start + 1
    while end < len(rows):
        above, below = rows[end - 1], rows[end]
        is_table = len(below) > 1 and end + 1 < len(rows) and len(rows[end + 1]) > 1
        gap = min(part.top for part in below) - max(part.bottom for part in above)
        is_list = _ITEM.match(rows[start][0].text) or _END_BEFORE_ITEM.search(above[-1].text)
        is_next = gap > _PARAGRAPH_GAP * size or (is_list and _ITEM.match(below[0].text))
        if is_table or is_next or _is_large(above, size) != _is_large(below, size):
            break
        end += 1
    return end


def _is_large(row: Row, size: float) -> bool:
    return median(part.height for part in row) > _HEADING_SIZE * size


def _add_paragraphs(builder: MarkdownBuilder, rows: list[Row], size: float) -> None:
    """Add a paragraph, its first line as a heading if it is one in the type of the text."""
    if _begins_with_heading(rows):
        builder.add_heading(2, " ".join(part.text for part in rows[0]))
        rows = rows[1:]
    _add_paragraph(builder, rows, size)


def _begins_with_heading(rows: list[Row]) -> bool:
    """Return whether the first line is a heading: it ends early, and the second, a full one, begins a sentence."""
    if len(rows) < 2 or any(len(row) > 1 for row in rows[:2]):
        return False
    (first,), (second,) = rows[:2]
    is_short = first.right - first.left <= _MAX_HEADING_WIDTH * (second.right - second.left)
    is_line = first.text[:1].isupper() or not first.text[:1].isalpha()
    few_words = len(first.text.split()) <= _MAX_HEADING_WORDS
    return bool(
        is_short and is_line and few_words and second.text[:1].isupper() and _HEADING_LINE.match(first.text)
        and abs(first.left - second.left) <= first.height
    )  # fmt: skip


def _add_paragraph(builder: MarkdownBuilder, rows: list[Row], size: float) -> None:
    text = join_lines(" ".join(part.text for part in row) for row in rows)
    if _is_large(rows[0], size) and len(text) <= _MAX_HEADING_CHARACTERS and _WORD.search(text):
        is_title = median(part.height for part in rows[0]) > _TITLE_SIZE * size
        builder.add_heading(1 if is_title else 2, text)
    elif len(rows) == 1 and len(rows[0]) == 1 and _is_in_capitals(text):
        builder.add_heading(2, text)
    else:
        builder.add_paragraph(text)


def _is_in_capitals(text: str) -> bool:
    """Return whether a line is a title in capitals of two words or more."""
    letters = sum(map(str.isalpha, text))
    is_title = text.isupper() and letters >= _MIN_CAPITALS and letters * 2 > len(text)
    return is_title and len(text) <= _MAX_HEADING_CHARACTERS and bool(_CAPITALS.match(text))
