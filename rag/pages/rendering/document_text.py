"""How pages show the text of a document: headings, lists, tables and code as such, with the cited range marked.

Nothing of the text becomes HTML here: templates escape every part.
"""

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rag.parsing import formats
from rag.text.markup.code_block_marks import closes_block, find_opening_marks

from .direction_controls import show_controls
from .table_marks import CELL_BORDER, TABLE_ROW, TABLE_RULE

_LINE = re.compile(r"[^\n]*\n?")
_HEADING = re.compile(r"\s{0,3}(#{1,6})\s+")
_ITEM = re.compile(r"(\s*)(?:([-*•+])|\d{1,3}[.)])\s+")
# What Markdown writes around words, and is not shown: emphasis, code, and the addresses of links and pictures.
# Links are bounded, because each of very many brackets is the beginning of one.
_NOT_SHOWN = re.compile(r"\*\*|__(?=\S)|(?<=\S)__|`+|!?\[(?=[^\]\n]{0,300}\]\()|\]\([^)\s]{0,1000}\)")
# The same in a quote, which may begin or end within a line. White space before a mark is not looked at: from each place
# of a long run, its rest would be read again.
_NOT_QUOTED = re.compile(rf"{_NOT_SHOWN.pattern}|(?m:^\s{{0,3}}#{{1,6}}\s+)|(?:\|\s*:?-+:?\s*)+\||\||```\w*")
# A link, whose text may continue on the next line.
_LINK = re.compile(r"!?\[([^\[\]]{0,300})\]\([^()\s]{0,1000}\)")
# The types whose stored text is Markdown. Other texts, such as source code, are stored as they are.
_MARKDOWN = frozenset({formats.MARKDOWN}) | formats.CONVERTED | formats.BINARY | formats.IN_OLE


@dataclass(frozen=True, slots=True)
class LinePart:
    """A part of a line. `is_marked`: it is in the cited range."""

    text: str
    is_marked: bool


@dataclass(frozen=True, slots=True)
class TextBlock:
    """A heading, paragraph, item of a list, table or block of code.

    Attributes:
        kind: heading, paragraph, bullet, numbered, table or code.
        rows: The cells of each row; one row with one cell in other blocks.
        level: The level of a heading, from 2; or of an item, from 0.
    """

    kind: str
    rows: tuple[tuple[tuple[LinePart, ...], ...], ...]
    level: int = 0

    @property
    def is_marked(self) -> bool:
        return any(part.is_marked for row in self.rows for cell in row for part in cell)


def is_markdown(content_type: str) -> bool:
    """Return whether the stored text of a document of this type is Markdown."""
    return content_type.partition(";")[0].strip().lower() in _MARKDOWN


def divide_text(text: str, marked: tuple[int, int]) -> list[TextBlock]:
    """Divide a Markdown text into blocks.

    Args:
        text: The text.
        marked: Start and end of the cited range.
    """
    lines = [match.span() for match in _LINE.finditer(text) if match.group()]
    blocks, position = [], 0
    while position < len(lines):
        line_above = text[slice(*lines[position - 1])] if position else ""
        kind = _kind(text[slice(*lines[position])], line_above)
        end = _end_of_block(kind, text, lines, position)
        if block := _build_block(kind, text, lines[position:end], marked):
            blocks.append(block)
        position = end
    return blocks


def show_quote(text: str) -> str:
    """Return a passage on one line, without the marks of Markdown."""
    without_links = _LINK.sub(r"\1", text)
    return " ".join(_NOT_QUOTED.sub(lambda match: " " if "|" in match.group() else "", without_links).split())


def _kind(line: str, line_above: str) -> str:
    if not line.strip():
        return "blank"
    if find_opening_marks(line, line_above):
        return "code"
    if _HEADING.match(line):
        return "heading"
    if TABLE_ROW.match(line):
        return "table"
    return "item" if _ITEM.match(line) else "paragraph"


def _end_of_block(kind: str, text: str, lines: Sequence[tuple[int, int]], start: int) -> int:
    """Return the index after the last line of the block that starts here."""
    end = start + 1
    if kind == "code":
        opening_marks = find_opening_marks(text[slice(*lines[start])], "")
        while end < len(lines) and not closes_block(text[slice(*lines[end])], opening_marks):
            end += 1
        return min(end + 1, len(lines))
    if kind in ("heading", "blank"):
        return end
    follows = "table" if kind == "table" else "paragraph"  # lines of an item continue it
    while end < len(lines) and _kind(text[slice(*lines[end])], text[slice(*lines[end - 1])]) == follows:
        end += 1
    return end


def _build_block(kind: str, text: str, lines: Sequence[tuple[int, int]], marked: tuple[int, int]) -> TextBlock | None:
    first = text[slice(*lines[0])]
    start, end = lines[0][0], lines[-1][1]
    match kind:
        case "blank":
            return None
        case "code":
            is_closed = len(lines) > 1 and closes_block(text[slice(*lines[-1])], find_opening_marks(first, ""))
            last = lines[-1][0] if is_closed else end
            parts = _line_parts(text, (lines[0][1], max(lines[0][1], last)), marked)
            return TextBlock(kind, ((tuple(LinePart(show_controls(part.text), part.is_marked) for part in parts),),))
        case "heading":
            prefix = _HEADING.match(first)
            assert prefix
            level = min(6, len(prefix[1]) + 1)
            return TextBlock(kind, ((_words(text, (start + prefix.end(), end), marked),),), level)
        case "table":
            rows = [line for line in lines if not TABLE_RULE.match(text[slice(*line)])]
            return TextBlock(kind, tuple(tuple(_cells(text, row, marked)) for row in rows))
        case "item":
            prefix = _ITEM.match(first)
            assert prefix
            shown_from = start + prefix.end() if prefix[2] else start + prefix.end(1)
            kind = "bullet" if prefix[2] else "numbered"
            return TextBlock(kind, ((_words(text, (shown_from, end), marked),),), min(3, len(prefix[1]) // 2))
    return TextBlock(kind, ((_words(text, (start, end), marked),),))


def _cells(text: str, row: tuple[int, int], marked: tuple[int, int]) -> Iterator[tuple[LinePart, ...]]:
    borders = [match.start() for match in CELL_BORDER.finditer(text, *row)]
    for left, right in itertools.pairwise(borders):
        cell = text[left + 1 : right]
        start = left + 1 + len(cell) - len(cell.lstrip())
        yield _words(text, (start, start + len(cell.strip())), marked)


def _words(text: str, span: tuple[int, int], marked: tuple[int, int]) -> tuple[LinePart, ...]:
    """Return the parts of a range of the text, without what Markdown writes around words."""
    parts: list[LinePart] = []
    position = span[0]
    for match in _NOT_SHOWN.finditer(text, *span):
        parts += _line_parts(text, (position, match.start()), marked)
        position = match.end()
    parts += _line_parts(text, (position, span[1]), marked)
    alike = itertools.groupby(parts, key=lambda part: part.is_marked)
    return tuple(LinePart("".join(part.text for part in group), is_marked) for is_marked, group in alike)


def _line_parts(text: str, span: tuple[int, int], marked: tuple[int, int]) -> Iterator[LinePart]:
    """Divide a range of the text where the cited range starts and ends."""
    borders = sorted({*span, *(border for border in marked if span[0] < border < span[1])})
    for start, end in itertools.pairwise(borders):
        yield LinePart(text[start:end], marked[0] <= start and end <= marked[1])
