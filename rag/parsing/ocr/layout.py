"""Orders recognised lines: columns, paragraphs, headings and tables."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from rag.parsing.markdown_builder import MarkdownBuilder

from .lines import Line

# In heights of a line:
_COLUMN_GAP = 1.0  # the minimum space between two columns, and between two cells of a row
_PARAGRAPH_GAP = 0.75  # the minimum space between two paragraphs
_SAME_ROW = 0.5  # how far the middles of two pieces of a row may be apart
_HEADING_SIZE = 1.25
_TITLE_SIZE = 1.75
# Columns of text have at least this many lines, most of them with this many characters; others are cells of a table.
_MIN_COLUMN_LINES, _MIN_COLUMN_CHARACTERS, _MIN_SHARE_OF_LONG_LINES = 3, 15, 0.75
_MAX_HEADING_CHARACTERS = 120
_WORD = re.compile(r"[^\W\d_]")
_HYPHENATED = re.compile(r"[^\W\d_]-$")


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a line, and the sides of its horizontal box in pixels."""

    text: str
    left: float
    right: float
    top: float
    bottom: float

    @property
    def height(self) -> float:
        """Height in pixels."""
        return self.bottom - self.top

    @property
    def middle(self) -> float:
        """The height of its middle on the page."""
        return (self.top + self.bottom) / 2


Row = list[Piece]


def add_lines(builder: MarkdownBuilder, lines: Sequence[Line]) -> None:
    """Add the text of a page to a document: paragraphs, headings and tables in reading order."""
    if not lines:
        return
    pieces = _straighten(lines)
    # Shorter lines have smaller boxes, so that the size of type is judged by the longer half of the lines.
    longest = sorted(pieces, key=lambda piece: len(piece.text))[len(pieces) // 2 :]
    size = median(piece.height for piece in longest)
    for region in _regions(pieces, size):
        _add_region(builder, _rows(region), size)


def _straighten(lines: Sequence[Line]) -> list[Piece]:
    """Rotate the boxes of the lines by the median of their angles, so that the lines are horizontal."""
    slope = median(line.box.angle for line in lines)
    pieces = []
    for line in lines:
        box = line.box
        x, y = box.x + box.y * slope, box.y - box.x * slope
        pieces.append(Piece(line.text, x - box.width / 2, x + box.width / 2, y - box.height / 2, y + box.height / 2))
    return pieces


def _regions(pieces: list[Piece], size: float) -> Iterator[list[Piece]]:
    """Yield parts of the page in reading order: columns of text are separate parts (recursive XY cut)."""
    if cut := _column_cut(pieces, size):
        yield from _regions([piece for piece in pieces if piece.right <= cut], size)
        yield from _regions([piece for piece in pieces if piece.right > cut], size)
        return
    # What spans the page separates columns above it from columns below it.
    for gap in _gaps([(piece.top, piece.bottom) for piece in pieces], _PARAGRAPH_GAP * size):
        above = [piece for piece in pieces if piece.bottom <= gap]
        below = [piece for piece in pieces if piece.bottom > gap]
        if _column_cut(above, size) or _column_cut(below, size):
            yield from _regions(above, size)
            yield from _regions(below, size)
            return
    yield pieces


def _column_cut(pieces: list[Piece], size: float) -> float | None:
    """Return where two columns of text meet, if there are two."""
    for gap in _gaps([(piece.left, piece.right) for piece in pieces], _COLUMN_GAP * size):
        sides = [piece for piece in pieces if piece.right <= gap], [piece for piece in pieces if piece.right > gap]
        if all(_is_text_column(side) for side in sides):
            return gap
    return None


def _is_text_column(pieces: list[Piece]) -> bool:
    long = sum(len(piece.text) >= _MIN_COLUMN_CHARACTERS for piece in pieces)
    return len(_rows(pieces)) >= _MIN_COLUMN_LINES and long >= _MIN_SHARE_OF_LONG_LINES * len(pieces)


def _gaps(intervals: list[tuple[float, float]], least: float) -> list[float]:
    """Return the ends of intervals that are followed by a gap of this size."""
    gaps, end = [], None
    for start, stop in sorted(intervals):
        if end is not None and start - end >= least:
            gaps.append(end)
        end = stop if end is None else max(end, stop)
    return gaps


def _rows(pieces: Sequence[Piece]) -> list[Row]:
    """Group the pieces that are side by side, from left to right."""
    rows: list[Row] = []
    for piece in sorted(pieces, key=lambda piece: piece.middle):
        previous = rows[-1][-1] if rows else None
        if previous and piece.middle - previous.middle <= _SAME_ROW * min(piece.height, previous.height):
            rows[-1].append(piece)
        else:
            rows.append([piece])
    return [sorted(row, key=lambda piece: piece.left) for row in rows]


def _add_region(builder: MarkdownBuilder, rows: list[Row], size: float) -> None:
    rows = [_join_near(row) for row in rows]
    start = 0
    while start < len(rows):
        end = start
        while end < len(rows) and len(rows[end]) > 1:
            end += 1
        if end - start >= 2:
            builder.add_table(_cells(rows[start:end]))
        else:
            end = _paragraph_end(rows, start, size)
            _add_paragraph(builder, rows[start:end], size)
        start = end


def _join_near(row: Row) -> Row:
    """Join the pieces of a row that are as near as words."""
    joined: Row = []
    for piece in row:
        if joined and piece.left - joined[-1].right < _COLUMN_GAP * max(piece.height, joined[-1].height):
            last = joined.pop()
            top, bottom = min(last.top, piece.top), max(last.bottom, piece.bottom)
            joined.append(Piece(f"{last.text} {piece.text}", last.left, piece.right, top, bottom))
        else:
            joined.append(piece)
    return joined


def _cells(rows: list[Row]) -> list[list[str]]:
    """Return the cells of a table: pieces that overlap in width are one column."""
    # Rows with the most cells show the columns: a cell of other rows may span several.
    largest = max(len(row) for row in rows)
    columns: list[tuple[float, float]] = []
    for left, right in sorted((piece.left, piece.right) for row in rows if len(row) == largest for piece in row):
        if columns and left < columns[-1][1]:
            columns[-1] = columns[-1][0], max(columns[-1][1], right)
        else:
            columns.append((left, right))
    table = []
    for row in rows:
        cells = [""] * len(columns)
        for piece in row:
            overlaps = [min(piece.right, right) - max(piece.left, left) for left, right in columns]
            column = overlaps.index(max(overlaps))
            cells[column] = f"{cells[column]} {piece.text}".strip()
        table.append(cells)
    return table


def _paragraph_end(rows: list[Row], start: int, size: float) -> int:
    end = start + 1
    while end < len(rows):
        above, below = rows[end - 1], rows[end]
        is_table = len(below) > 1 and end + 1 < len(rows) and len(rows[end + 1]) > 1
        gap = min(piece.top for piece in below) - max(piece.bottom for piece in above)
        if is_table or gap > _PARAGRAPH_GAP * size or _is_large(above, size) != _is_large(below, size):
            break
        end += 1
    return end


def _is_large(row: Row, size: float) -> bool:
    return median(piece.height for piece in row) > _HEADING_SIZE * size


def _add_paragraph(builder: MarkdownBuilder, rows: list[Row], size: float) -> None:
    text = ""
    for row in rows:
        line = " ".join(piece.text for piece in row)
        is_split = _HYPHENATED.search(text) and line[:1].islower()
        text = text[:-1] + line if is_split else f"{text} {line}".strip()
    if _is_large(rows[0], size) and len(text) <= _MAX_HEADING_CHARACTERS and _WORD.search(text):
        is_title = median(piece.height for piece in rows[0]) > _TITLE_SIZE * size
        builder.add_heading(1 if is_title else 2, text)
    else:
        builder.add_paragraph(text)
