"""Divides the text of an answer into paragraphs, headings, lists, tables and code, as Markdown writes them.

Nothing of the text becomes HTML here: templates escape every entry.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from rag.text.markup.code_block_marks import closes_block, find_opening_marks

from .table_marks import CELL_BORDER, TABLE_ROW, TABLE_RULE

_HEADING = re.compile(r"^#{1,6}\s+(\S.*)$")
_BULLET = re.compile(r"^(\s*)[-*•+]\s+(\S.*)$")
# Years and amounts at the start of a line have more digits.
_NUMBERED = re.compile(r"^(\s*)(\d{1,3})[.)]\s+(\S.*)$")
_INDENTATION_OF_NESTED_ITEMS = 2


class BlockKind(StrEnum):
    PARAGRAPH = "paragraph"
    HEADING = "heading"
    BULLETS = "bullets"
    NUMBERED = "numbered"
    TABLE = "table"
    CODE = "code"


@dataclass(frozen=True, slots=True)
class Entry:
    """An item of a list, a row of a table, or the whole of another block.

    Attributes:
        cells: The cells of a row; one text otherwise.
        is_nested: It belongs to the item above it.
    """

    cells: tuple[str, ...]
    is_nested: bool = False


@dataclass(frozen=True, slots=True)
class Block:
    """A part of an answer. `start` is the number of a list's first item."""

    kind: BlockKind
    entries: tuple[Entry, ...]
    start: int = 1


def divide(text: str) -> Iterator[Block]:
    """Yield the blocks of a text in order."""
    lines = text.split("\n")
    position = 0
    while position < len(lines):
        kind = _kind(lines[position], _line(lines, position + 1), _line(lines, position - 1))
        end = _end_of_block(kind, lines, position)
        if any(line.strip() for line in lines[position:end]):
            yield _block(kind, lines[position:end])
        position = end


def _line(lines: Sequence[str], number: int) -> str:
    """Return a line; an empty one before the first and after the last."""
    return lines[number] if 0 <= number < len(lines) else ""


def _kind(line: str, next_line: str = "", line_above: str = "") -> BlockKind:
    if find_opening_marks(line, line_above):
        return BlockKind.CODE
    if _HEADING.match(line):
        return BlockKind.HEADING
    if TABLE_ROW.match(line) and TABLE_RULE.match(next_line):
        return BlockKind.TABLE
    if _BULLET.match(line):
        return BlockKind.BULLETS
    return BlockKind.NUMBERED if _NUMBERED.match(line) else BlockKind.PARAGRAPH


def _end_of_block(kind: BlockKind, lines: Sequence[str], start: int) -> int:
    """Return the index after the last line of the block that starts here."""
    end = start + 1
    if kind == BlockKind.CODE:
        opening_marks = find_opening_marks(lines[start], "")
        while end < len(lines) and not closes_block(lines[end], opening_marks):
            end += 1
        return min(end + 1, len(lines))
    if kind == BlockKind.HEADING:
        return end
    while end < len(lines) and _continues(kind, lines[end], _line(lines, end + 1), lines[end - 1]):
        end += 1
    return end


def _continues(kind: BlockKind, line: str, next_line: str, line_above: str) -> bool:
    if kind == BlockKind.TABLE:
        return bool(TABLE_ROW.match(line))
    if not line.strip():
        # A list may have blank lines between its items.
        return kind in (BlockKind.BULLETS, BlockKind.NUMBERED) and _kind(next_line) == kind
    if kind in (BlockKind.BULLETS, BlockKind.NUMBERED) and line.startswith("  "):
        return not find_opening_marks(line, line_above)
    return _kind(line, next_line, line_above) == kind and not (kind == BlockKind.PARAGRAPH and not line.strip())


def _block(kind: BlockKind, lines: list[str]) -> Block:
    if kind == BlockKind.CODE:
        is_closed = len(lines) > 1 and closes_block(lines[-1], find_opening_marks(lines[0], ""))
        return Block(kind, (Entry(("\n".join(lines[1:-1] if is_closed else lines[1:]),)),))
    if kind == BlockKind.TABLE:
        rows = [line for line in lines if not TABLE_RULE.match(line)]
        return Block(kind, tuple(Entry(_cells(row)) for row in rows))
    if kind in (BlockKind.BULLETS, BlockKind.NUMBERED):
        numbered = _NUMBERED.match(lines[0])
        return Block(kind, tuple(_items(lines)), int(numbered[2]) if numbered else 1)
    if heading := _HEADING.match(lines[0]):
        text = heading[1].rstrip()
        return Block(kind, (Entry((text.rstrip("#").rstrip() or text,)),))
    return Block(kind, (Entry(("\n".join(lines).strip("\n"),)),))


def _cells(row: str) -> tuple[str, ...]:
    inner = row.strip().removeprefix("|").removesuffix("|")
    return tuple(cell.strip().replace("\\|", "|") for cell in CELL_BORDER.split(inner))


def _items(lines: Sequence[str]) -> Iterator[Entry]:
    text, is_nested = "", False
    for line in lines:
        item = _BULLET.match(line) or _NUMBERED.match(line)
        if item is None:
            text += f"\n{line.strip()}" if line.strip() else ""
            continue
        if text:
            yield Entry((text,), is_nested)
        text, is_nested = item[item.lastindex or 0], len(item[1]) >= _INDENTATION_OF_NESTED_ITEMS
    if text:
        yield Entry((text,), is_nested)
