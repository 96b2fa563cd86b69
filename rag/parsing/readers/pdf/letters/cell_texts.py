"""The texts of cells between lines: each character of a page belongs to one cell, although it may reach into others.

pdfium's own search for the text of an area finds letters that only touch it, such as those whose lower parts cross the
line below them.
"""

import ctypes
import math
from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from .unknown_ligatures import find_ligatures

# In heights of a letter: where its middle is above the base line, and how far apart the base lines of two lines are.
_MIDDLE, _NEXT_LINE = 0.3, 0.5


class CellTexts:
    """The characters of a page by their places."""

    def __init__(self, text_page: pdfium.PdfTextPage) -> None:
        self._text_page = text_page
        self._matrix = pdfium_c.FS_MATRIX()
        self._values = [ctypes.c_double() for _ in range(4)]
        self._characters = [chr(pdfium_c.FPDFText_GetUnicode(text_page, at)) for at in range(text_page.count_chars())]
        for number, ligature in find_ligatures(text_page, self._characters).items():
            self._characters[number] = ligature
        visible = [number for number, character in enumerate(self._characters) if not character.isspace()]
        self._heights = {number: self._size(number) for number in visible}
        middles = {number: self._base_line(number) + _MIDDLE * self._heights[number] for number in visible}
        self._by_height = sorted(visible, key=middles.__getitem__)
        self._middles = [middles[number] for number in self._by_height]

    def row(self, edges: Sequence[float], top: float, bottom: float) -> list[str]:
        """Return the texts between the edges, from the left to the right. The lines of a cell stay lines."""
        first, following = bisect_right(self._middles, bottom), bisect_right(self._middles, top)
        cells: list[list[int]] = [[] for _ in edges[1:]]
        for number in sorted(self._by_height[first:following]):
            place = bisect_right(edges, self._center(number)) - 1
            if 0 <= place < len(cells):
                cells[place].append(number)
        return list(map(self._joined, cells))

    def _joined(self, numbers: Sequence[int]) -> str:
        parts = [self._characters[number] for number in numbers[:1]]
        for previous, number in pairwise(numbers):
            between = self._characters[previous + 1 : number]
            drop = abs(self._base_line(previous) - self._base_line(number))
            if "\n" in between or "\r" in between or drop > _NEXT_LINE * self._heights[number]:
                parts.append("\n")
            elif between:
                parts.append(" ")
            parts.append(self._characters[number])
        return "".join(parts)

    def _center(self, number: int) -> float:
        left, right, bottom, top = self._values
        pdfium_c.FPDFText_GetCharBox(self._text_page, number, left, right, bottom, top)
        return (left.value + right.value) / 2

    def _base_line(self, number: int) -> float:
        x, y = self._values[:2]
        pdfium_c.FPDFText_GetCharOrigin(self._text_page, number, x, y)
        return y.value

    def _size(self, number: int) -> float:
        pdfium_c.FPDFText_GetMatrix(self._text_page, number, self._matrix)
        size = pdfium_c.FPDFText_GetFontSize(self._text_page, number) * math.hypot(self._matrix.c, self._matrix.d)
        return size if size > 1 else 1.0
