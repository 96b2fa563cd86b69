"""Columns of a page that were written in another order, such as those of leaflets: they are read one after the other.

Programs for layout write each box of text in the order in which it was made. Columns are parts of the page with a gap
between them from the top to the bottom, or between lines that reach across the page. Rows of a table have parts in
several columns, and are written across them, so a page with such lines stays as it is.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from .text_lines import PageLines, TextLine

_MIN_LINES, _MAX_LINES, _MAX_COLUMNS = 12, 500, 8
# Which share of the width of the page's text a line across it has, and at most how many of the lines are such.
_WIDE, _MAX_WIDE_SHARE = 0.6, 0.2
# In heights of a letter: the space between two columns, and between two boxes on each other.
_GUTTER, _BETWEEN_BOXES = 1.0, 2.0
# A column has so many lines, most of them with so many characters.
_MIN_COLUMN_LINES, _MIN_CHARACTERS, _MIN_SHARE_OF_LONG = 4, 10, 0.5
# Which share of the lines may have parts in several columns, and may not be in the column of the line before.
_MAX_ACROSS, _MAX_SWITCHES = 0.1, 0.2


@dataclass(frozen=True, slots=True)
class _Part:
    """A line, or its part in a column. `column`: -1 if it is across the page."""

    line: TextLine
    left: float
    right: float
    column: int = -1


def in_columns(page: PageLines, lines: Sequence[TextLine]) -> list[TextLine]:
    """Return the lines of a page in the order of its columns, or as they are if it has none or they are in order."""
    lines = list(lines)
    if not _MIN_LINES <= len(lines) <= _MAX_LINES:
        return lines
    segments = {number: page.segments(line) for number, line in enumerate(lines)}
    if not all(segments.values()):
        return lines
    left = min(parts[0].left for parts in segments.values())
    width = max(max(part.right for part in parts) for parts in segments.values()) - left
    wide = {number for number, parts in segments.items() if _is_wide([(p.left, p.right) for p in parts], width)}
    if len(wide) > _MAX_WIDE_SHARE * len(lines):
        return lines
    height = sorted(line.height for line in lines)[len(lines) // 2]
    spans = [(part.left, part.right) for number in segments if number not in wide for part in segments[number]]
    starts = _column_starts(spans, _GUTTER * height)
    if not 2 <= len(starts) <= _MAX_COLUMNS:
        return lines
    parts: list[_Part] = []
    across = 0
    for number, line in enumerate(lines):
        if number in wide:
            parts.append(_Part(line, left, left + width))
            continue
        columns: dict[int, list[int]] = {}
        for place, segment in enumerate(segments[number]):
            columns.setdefault(bisect_right(starts, segment.left) - 1, []).append(place)
        across += len(columns) > 1
        for column, places in columns.items():
            inner = [segments[number][place] for place in places]
            shown = line
            if len(columns) > 1:
                text = "  ".join(segment.text for segment in inner)
                shown = replace(line, text=text, left=inner[0].left, start=-1)
            parts.append(_Part(shown, inner[0].left, inner[-1].right, column))
    if across > _MAX_ACROSS * len(lines) or not _are_texts(parts, len(starts)):
        return lines
    return _ordered(parts, lines)


def _is_wide(spans: Sequence[tuple[float, float]], width: float) -> bool:
    return max(right - left for left, right in spans) > _WIDE * width


def _column_starts(spans: Sequence[tuple[float, float]], gutter: float) -> list[float]:
    """Return where columns start: after a gap that nothing reaches into."""
    starts: list[float] = []
    end = 0.0
    for left, right in sorted(spans):
        if not starts or left - end >= gutter:
            starts.append(left)
            end = right
        end = max(end, right)
    return starts


def _are_texts(parts: Sequence[_Part], count: int) -> bool:
    """Return whether the columns have lines of text, each box written by itself."""
    for column in range(count):
        texts = [part.line.text for part in parts if part.column == column]
        long = sum(len(text.strip()) >= _MIN_CHARACTERS for text in texts)
        if len(texts) < _MIN_COLUMN_LINES or long < _MIN_SHARE_OF_LONG * len(texts):
            return False
    written = [part.column for part in parts if part.column >= 0]
    switches = sum(column != following for column, following in pairwise(written))
    return switches <= _MAX_SWITCHES * len(parts)


def _ordered(parts: Sequence[_Part], lines: list[TextLine]) -> list[TextLine]:
    """Return the lines in the order of reading; as they are if each column was written from the top downwards."""
    across = sorted(part.line.bottom for part in parts if part.column < 0)
    bands: dict[int, list[_Part]] = {}
    for part in parts:
        if part.column >= 0:
            bands.setdefault(len(across) - bisect_right(across, part.line.bottom), []).append(part)
    written = [part.column for part in parts if part.column >= 0]
    runs_of_columns = [column for place, column in enumerate(written) if not place or column != written[place - 1]]
    in_turn = len(runs_of_columns) == len(set(runs_of_columns))
    is_upward = any(
        other.line.bottom > part.line.end + part.line.height
        for part, other in pairwise(parts)
        if part.column == other.column >= 0
    )
    if in_turn and not is_upward:
        return lines
    columns = list(dict.fromkeys(written)) if in_turn else sorted(set(written))
    ordered: list[TextLine] = []
    above = sorted((part.line for part in parts if part.column < 0), key=lambda line: -line.bottom)
    for band in range(len(across) + 1):
        for column in columns:
            ordered += _from_the_top([part.line for part in bands.get(band, []) if part.column == column])
        ordered += above[band : band + 1]
    return ordered


def _from_the_top(lines: Sequence[TextLine]) -> list[TextLine]:
    """Return the lines of a column, box by box from the top downwards."""
    boxes: list[list[TextLine]] = []
    for line in lines:
        last = boxes[-1][-1] if boxes else None
        drop = (last.end - line.bottom) / max(line.height, last.height) if last else 0.0
        if last and 0 <= drop <= _BETWEEN_BOXES:
            boxes[-1].append(line)
        else:
            boxes.append([line])
    return [line for box in sorted(boxes, key=lambda box: -box[0].bottom) for line in box]
