"""The paragraphs of a Word document of Office 97 to 2003 with their styles and lists (MS-DOC), which xberg ignores."""

import io
import re
import struct
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import olefile

from .word_types import CHARACTER_PAGES, CharacterRuns, CharacterType, common_type

# Where the header has the number of characters, the flag for the second stream, and the pairs of place and size.
_FLAGS, _TABLE_FLAG, _PAIRS = 0x0A, 0x0200, 0x9A
_STYLES, _PROPERTY_PAGES, _PIECES = 1, 13, 33
_PAGE_BYTES, _ENTRY_BYTES, _COMPRESSED = 512, 13, 1 << 30
_MAX_PAGES, _MAX_STYLES, _MAX_BASES, _MAX_PARTS = 20_000, 4_000, 10, 1_000_000
# What a property changes, and how many bytes its value has, by its three highest bits; None: the first byte says it.
_IN_LIST, _LEVEL, _OUTLINE, _IN_TABLE, _ENDS_ROW = 0x460B, 0x260A, 0x2640, 0x2416, 0x2417
_SIZES = (1, 1, 2, 4, 2, 2, None, 3)
_LONG_TABLE = 0xD608
# The beginning of a field, of its result, and its end; and other signs that are no text.
_FIELD, _CONTROL = re.compile("([\x13\x14\x15])"), re.compile("[\x00-\x1f]+")
_CELL_END, _ENDS = "\x07", ("\r", "\x07", "\x0c")
# The styles of headings have fixed numbers, from 1 to 9.
_LAST_HEADING, _PARAGRAPH_KIND = 9, 1


@dataclass(frozen=True, slots=True)
class Properties:
    """What a style or a paragraph says about itself; None for what it leaves to the style.

    Attributes:
        outline: The level of a heading, from 0; 9 for text.
        in_list: The number of its list, from 1; 0 for none.
        level: Its level in the list, from 0.
        in_table: Whether it is in a table.
        ends_row: Whether it is the mark behind the cells of a row.
    """

    outline: int | None = None
    in_list: int | None = None
    level: int | None = None
    in_table: bool | None = None
    ends_row: bool | None = None

    def above(self, base: "Properties") -> "Properties":
        """Return the properties, with those of what it is based on where it has none."""
        return Properties(
            base.outline if self.outline is None else self.outline,
            base.in_list if self.in_list is None else self.in_list,
            base.level if self.level is None else self.level,
            base.in_table if self.in_table is None else self.in_table,
            base.ends_row if self.ends_row is None else self.ends_row,
        )


@dataclass(frozen=True, slots=True)
class LegacyParagraph:
    """A paragraph: its text, its properties, the type of its letters, and whether it is the last one of its cell."""

    text: str
    properties: Properties
    type: CharacterType
    ends_cell: bool = False


# A part of a paragraph: its text, with its mark, the properties of the paragraph, and the type of its letters.
_Part = tuple[str, Properties, CharacterType]


class LegacyDocument:
    """The streams of a document."""

    def __init__(self, content: bytes) -> None:
        """Open the document. One of `DAMAGES` of the reader of Outlook messages is raised if it is damaged."""
        with olefile.OleFileIO(io.BytesIO(content)) as file:
            self._main: bytes = file.openstream("WordDocument").read()
            (flags,) = struct.unpack_from("<H", self._main, _FLAGS)
            self._table: bytes = file.openstream("1Table" if flags & _TABLE_FLAG else "0Table").read()

    def place(self, number: int) -> tuple[int, int]:
        """Return where a structure begins in the table stream, and its size."""
        start, size = struct.unpack_from("<II", self._main, _PAIRS + 8 * number)
        return start, size

    @property
    def table(self) -> bytes:
        """The table stream."""
        return self._table

    def paragraphs(self) -> list[LegacyParagraph]:
        """Return the paragraphs in the order of the text."""
        styles, pieces = self._read_styles(), sorted(self._pieces())
        runs = CharacterRuns(self._main, self._table, self.place(CHARACTER_PAGES))
        starts, placed, left = [first for first, *_ in pieces], list[tuple[int, _Part]](), 2 * len(self._main)
        for start, end, style, direct in self._runs():
            # What was changed since the file was first saved is in pieces of its own, within a paragraph, too.
            for first, last, number, width in _overlapping(pieces, starts, start, end):
                raw = self._main[max(start, first) : min(end, last)]
                # A part has a byte at least, so that twice the stream is enough for all that do not overlap.
                left -= 1 + len(raw)
                if left < 0 or len(placed) == _MAX_PARTS:
                    raise ValueError("paragraphs overlap")
                base, basic = styles.get(style, (Properties(), CharacterType()))
                letters = runs.type_of(max(start, first), min(end, last), width, basic)
                text = raw.decode("utf-16-le" if width == 2 else "cp1252", "replace")
                placed.append((number + (max(start, first) - first) // width, (text, direct.above(base), letters)))
        return list(_join_parts(part for _, part in sorted(placed, key=lambda one: one[0])))

    def _pieces(self) -> Iterator[tuple[int, int, int, int]]:
        """Yield where each piece begins and ends in the file, its first character's number, and the bytes of one.

        Pieces without text are left out, and what of a piece is behind the end of the file.
        """
        start, size = self.place(_PIECES)
        place, end = start, start + size
        while place < end and self._table[place] == 1:  # changes of properties
            place += 3 + struct.unpack_from("<H", self._table, place + 1)[0]
        count = (struct.unpack_from("<I", self._table, place + 1)[0] - 4) // 12
        numbers = struct.unpack_from(f"<{count + 1}I", self._table, place + 5)
        for piece in range(count):
            (at,) = struct.unpack_from("<I", self._table, place + 5 + 4 * (count + 1) + 8 * piece + 2)
            width = 1 if at & _COMPRESSED else 2
            first = (at & ~_COMPRESSED) // 2 if width == 1 else at
            last = min(first + width * (numbers[piece + 1] - numbers[piece]), len(self._main))
            if first < last:
                yield first, last, numbers[piece], width

    def _runs(self) -> Iterator[tuple[int, int, int, Properties]]:
        """Yield the place of each paragraph in the file, the number of its style, and its own properties."""
        start, size = self.place(_PROPERTY_PAGES)
        count = min((size - 4) // 8, _MAX_PAGES)
        for number in struct.unpack_from(f"<{count}I", self._table, start + 4 * ((size - 4) // 8 + 1)):
            page = self._main[_PAGE_BYTES * number : _PAGE_BYTES * (number + 1)]
            paragraphs = page[-1] if len(page) == _PAGE_BYTES else 0
            places = struct.unpack_from(f"<{paragraphs + 1}I", page)
            for entry in range(paragraphs):
                offset = 2 * page[4 * (paragraphs + 1) + _ENTRY_BYTES * entry]
                style, direct = _read_entry(page, offset) if offset else (0, Properties())
                yield places[entry], places[entry + 1], style, direct

    def _read_styles(self) -> dict[int, tuple[Properties, CharacterType]]:
        start, size = self.place(_STYLES)
        sheet = self._table[start : start + size]
        head, count, base_size = struct.unpack_from("<HHH", sheet)
        place, defined, bases = 2 + head, dict[int, tuple[Properties, bytes]](), dict[int, int]()
        for number in range(min(count, _MAX_STYLES)):
            (length,) = struct.unpack_from("<H", sheet, place)
            if length >= base_size:
                style = sheet[place + 2 : place + 2 + length]
                properties, changes, bases[number] = _read_style(style, number, base_size)
                defined[number] = properties, changes
            place += 2 + length
        return {number: self._with_bases(number, defined, bases) for number in defined}

    @staticmethod
    def _with_bases(
        number: int, defined: dict[int, tuple[Properties, bytes]], bases: dict[int, int]
    ) -> tuple[Properties, CharacterType]:
        properties, changes = Properties(), list[bytes]()
        for _ in range(_MAX_BASES):
            if number not in defined:
                break
            properties = properties.above(defined[number][0])
            changes.append(defined[number][1])
            number = bases[number]
        letters = CharacterType()
        for change in reversed(changes):
            letters = letters.changed(change)
        return properties, letters


def _overlapping(
    pieces: Sequence[tuple[int, int, int, int]], starts: Sequence[int], start: int, end: int
) -> Iterator[tuple[int, int, int, int]]:
    """Yield the pieces that have a part of the file between two places."""
    number = max(bisect_right(starts, start) - 1, 0)
    while number < len(pieces) and pieces[number][0] < end:
        if pieces[number][1] > start:
            yield pieces[number]
        number += 1


def _join_parts(parts: Iterable[_Part]) -> Iterator[LegacyParagraph]:
    """Yield the paragraphs: a part without a mark at its end goes on in the next one, which has the properties."""
    texts, letters = list[str](), list[CharacterType]()
    for text, properties, letter_type in parts:
        texts.append(text)
        letters += [letter_type] if any(map(str.isalnum, text)) else []
        if text.endswith(_ENDS):
            common = common_type(letters or [letter_type])
            yield LegacyParagraph(_visible_text("".join(texts)), properties, common, text.endswith(_CELL_END))
            texts, letters = [], []
    if texts:
        yield LegacyParagraph(_visible_text("".join(texts)), properties, common_type(letters or [letter_type]))


def _read_entry(page: bytes, offset: int) -> tuple[int, Properties]:
    """Return the number of the style and the own properties of a paragraph."""
    words = page[offset]
    first, size = (offset + 1, 2 * words - 1) if words else (offset + 2, 2 * page[offset + 1])
    (style,) = struct.unpack_from("<H", page, first)
    return style, _read_properties(page[first + 2 : first + size])


def _read_style(style: bytes, number: int, base_size: int) -> tuple[Properties, bytes, int]:
    """Return the properties of a style, what it changes of letters, and the number of the style it is based on."""
    _, place = struct.unpack_from("<HH", style)
    outline = number - 1 if 0 < number <= _LAST_HEADING else None
    if place & 0xF != _PARAGRAPH_KIND:
        return Properties(), b"", place >> 4
    start = base_size + 2 * (struct.unpack_from("<H", style, base_size)[0] + 2)  # behind the name
    start += start % 2
    (size,) = struct.unpack_from("<H", style, start) if start + 2 <= len(style) else (0,)
    direct = _read_properties(style[start + 4 : start + 2 + size])
    letters = start + 2 + size + size % 2
    (letters_size,) = struct.unpack_from("<H", style, letters) if letters + 2 <= len(style) else (0,)
    changes = style[letters + 2 : letters + 2 + letters_size]
    return (direct if direct.outline is not None else replace(direct, outline=outline)), changes, place >> 4


def _read_properties(changes: bytes) -> Properties:
    properties, place = Properties(), 0
    while place + 2 < len(changes):
        (code,) = struct.unpack_from("<H", changes, place)
        place += 2
        size = _SIZES[code >> 13]
        if size is None:
            size = 2 + struct.unpack_from("<H", changes, place)[0] - 1 if code == _LONG_TABLE else 1 + changes[place]
        value = changes[place]
        if code == _IN_LIST:
            properties = replace(properties, in_list=int.from_bytes(changes[place : place + 2], "little"))
        elif code == _LEVEL:
            properties = replace(properties, level=value)
        elif code == _OUTLINE:
            properties = replace(properties, outline=value)
        elif code == _IN_TABLE:
            properties = replace(properties, in_table=bool(value))
        elif code == _ENDS_ROW:
            properties = replace(properties, ends_row=bool(value))
        place += size
    return properties


def _visible_text(text: str) -> str:
    """Return the text that is shown: without the instructions of fields, and signs that control them."""
    parts, fields = [], list[bool]()  # whether the result of each open field has begun
    for part in _FIELD.split(text):
        if part == "\x13":
            fields.append(False)
        elif part == "\x14":
            fields[-1:] = [True] * len(fields[-1:])
        elif part == "\x15":
            fields[-1:] = []
        elif all(fields):
            parts.append(part)
    return " ".join(_CONTROL.sub(" ", "".join(parts)).split())
