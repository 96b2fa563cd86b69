"""The type of the paragraphs of a Word document of Office 97 to 2003: bold, underlined, and its size (MS-DOC)."""

import struct
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

# The pages with the properties of characters, and how large one is.
CHARACTER_PAGES, _PAGE_BYTES, _MAX_PAGES, _MAX_RUNS = 12, 512, 20_000, 500_000
# What a property changes, and how many bytes its value has, by its three highest bits; None: the first byte says it.
_BOLD, _UNDERLINED, _SIZE = 0x0835, 0x2A3E, 0x4A43
_SIZES = (1, 1, 2, 4, 2, 2, None, 3)
# A value that means "as the style says", or the contrary.
_AS_STYLE, _CONTRARY = 0x80, 0x81


@dataclass(frozen=True, slots=True)
class CharacterType:
    """How letters look. `size`: in half points."""

    is_bold: bool = False
    is_underlined: bool = False
    size: int = 20

    def changed(self, changes: bytes) -> "CharacterType":
        """Return the type with the changes that a style or a run makes."""
        known, place = self, 0
        while place + 2 < len(changes):
            (code,) = struct.unpack_from("<H", changes, place)
            place += 2
            size = _SIZES[code >> 13]
            size = 1 + changes[place] if size is None else size
            value = int.from_bytes(changes[place : place + size], "little")
            if code == _BOLD and value != _AS_STYLE:
                known = replace(known, is_bold=not self.is_bold if value == _CONTRARY else bool(value))
            elif code == _UNDERLINED:
                known = replace(known, is_underlined=bool(value))
            elif code == _SIZE and value:
                known = replace(known, size=value)
            place += size
        return known


def common_type(types: Sequence[CharacterType]) -> CharacterType:
    """Return the type that all letters have, and the size of the largest."""
    is_bold, is_underlined = all(one.is_bold for one in types), all(one.is_underlined for one in types)
    return CharacterType(is_bold, is_underlined, max(one.size for one in types))


class CharacterRuns:
    """The runs of letters of the same type, by their places in the file."""

    def __init__(self, main: bytes, table: bytes, place: tuple[int, int]) -> None:
        """Read the runs.

        Args:
            main: The stream with the text.
            table: The stream with the structures.
            place: Where the list of the pages is in the table stream, and its size.
        """
        self._main = main
        # Damaged files have several runs at a place, of which one is enough.
        runs = {run[0]: run for run in islice(_runs(main, table, *place), _MAX_RUNS)}
        self._runs = sorted(runs.values())
        self._starts = [start for start, _, _ in self._runs]

    def type_of(self, start: int, end: int, width: int, basic: CharacterType) -> CharacterType:
        """Return the type that all letters of a paragraph have, and the size of the largest.

        Args:
            start: Where the paragraph begins in the file.
            end: Where it ends.
            width: The bytes of a character.
            basic: The type of its style.
        """
        types: list[CharacterType] = []
        number = max(bisect_right(self._starts, start) - 1, 0)
        while number < len(self._runs) and self._runs[number][0] < end:
            first, last, changes = self._runs[number]
            # In damaged files runs overlap: each ends where the next one begins.
            last = min(last, end, *self._starts[number + 1 : number + 2])
            raw = self._main[max(first, start) : last]
            if any(map(str.isalnum, raw.decode("utf-16-le" if width == 2 else "cp1252", "replace"))):
                types.append(basic.changed(changes))
            number += 1
        return common_type(types or [basic])


def _runs(main: bytes, table: bytes, start: int, size: int) -> Iterator[tuple[int, int, bytes]]:
    """Yield the place of each run in the file, and its changes."""
    count = min(max(size - 4, 0) // 8, _MAX_PAGES)
    for page_number in struct.unpack_from(f"<{count}I", table, start + 4 * (count + 1)) if count else ():
        page = main[_PAGE_BYTES * page_number : _PAGE_BYTES * (page_number + 1)]
        runs = page[-1] if len(page) == _PAGE_BYTES else 0
        places: Sequence[int] = struct.unpack_from(f"<{runs + 1}I", page) if runs else ()
        for entry in range(runs):
            offset = 2 * page[4 * (runs + 1) + entry]
            changes = page[offset + 1 : offset + 1 + page[offset]] if offset else b""
            yield places[entry], places[entry + 1], changes
