"""The lines of a page's text layer in the order in which they were written, with their places and sizes."""

import ctypes
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from .letters.overprinted import leave_out_copies
from .letters.raised import join_raised
from .letters.right_to_left import in_reading_order, is_right_to_left
from .letters.spacing_accents import LEFT_OUT, Accents
from .letters.unknown_ligatures import find_ligatures
from .letters.word_spaces import find_word_spaces

# pdfium writes it for a hyphen at the end of a line within a word, without a line break.
SOFT_HYPHEN = "\ufffe"
_DRAWN_HYPHEN = re.compile("\u00ad(?!\u2010)")
# Signs that some programs write by their numbers in Windows-1252, and pdfium's other one for a hyphen.
_CHARACTERS = {number: bytes([number]).decode("cp1252", "replace") for number in range(0x80, 0xA0)}
_CHARACTERS |= {0x00: "\ufffd", 0x02: SOFT_HYPHEN}
_LINE = re.compile(r"(?:(?!\r\n).)+(?:\r\n)?|\r\n", re.S)
# What fonts of TeX have where others have signs that control a terminal.
_LIGATURES: dict[int, str | None] = {0x0B: "ff", 0x0C: "fi", 0x0D: "fl", 0x0E: "ffi", 0x0F: "ffl", ord(LEFT_OUT): None}
# Signs for other ligatures, because each character of the text has its number on the page. Unicode keeps them for use
# within programs; those for private use are icons in many fonts.
_MARKS = {"ti": "\ufdd0", "ft": "\ufdd1", "tt": "\ufdd2", "tti": "\ufdd3"}
_LIGATURES |= {ord(mark): ligature for ligature, mark in _MARKS.items()}
# These signs beside no letter are spaces: word processors on a Mac write tabs and ends of lines in their place.
_BLANKS = re.compile(r"(?<![^\W\d_])[\x0b-\x0f](?!\n|[^\W\d_])")
# Signs that say something on a line of their own, which wrapped cells have: "640" and "€" below it.
_SIGNS = frozenset("€£¥₹✓✔✗✘☑☒☐")
# Those of items; they have lines of their own if they were written apart from the items.
BULLETS = frozenset("•◦▪‣∙●○■")
_FIXED_PITCH, _MAX_NAME_BYTES = 1, 200
_FIXED_NAMES = (b"courier", b"mono", b"consol", b"cmtt", b"lmtt", b"typewriter")
# The last ones are of fonts of TeX and of Ghostscript's Times.
_BOLD_NAMES = (b"bold", b"black", b"heavy", b"semibold", b"demi", b"cmbx", b"sfbx", b"lmbx", b"cmssbx")
_BOLD_ENDINGS = (b"-medi", b"-mediital")
# How much larger an initial is than the text that it begins.
_MIN_INITIAL = 1.5
# In heights of a letter: words that are farther apart are in different cells.
_CELL_GAP = 1.0


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a line without a wide gap, and where it starts and ends, in points from the left."""

    text: str
    left: float
    right: float


@dataclass(frozen=True, slots=True)
class TextLine:
    """A line of text.

    Attributes:
        text: The line, without a line break.
        left: Where it starts, in points from the left of the page.
        bottom: The base line of its first letter, in points from the bottom of the page.
        end: That of its last letter: lower if words are divided, because these lines are read as one.
        height: The size of the font of its first letter, in points of the page.
        is_bold: Whether its first and last letter are bold.
        is_fixed: Whether its first and last letter are as wide as all others, as in a program.
        start: The number of its first character on the page; -1 if they are in another order there.
        ends_bold: Whether its last letter is bold.
        color: The colour of its first and last letter, as red, green and blue; None if they differ.
    """

    text: str
    left: float
    bottom: float
    end: float
    height: float
    is_bold: bool
    is_fixed: bool
    start: int
    ends_bold: bool = False
    color: tuple[int, int, int] | None = None


def read_characters(text_page: pdfium.PdfTextPage) -> str:
    """Return the characters of a page, each at its number.

    pdfium's text of some pages leaves out characters. What is drawn as a hyphen is one, whether or not a word may be
    divided there.
    """
    count, text = text_page.count_chars(), text_page.get_text_range()
    if len(text) != count:
        text = "".join(chr(pdfium_c.FPDFText_GetUnicode(text_page, number)) for number in range(count))
    return _DRAWN_HYPHEN.sub("-", text.translate(_CHARACTERS))


class PageLines:
    """The lines of a page. `text` is empty if the numbers of its characters are not known."""

    def __init__(self, page: pdfium.PdfPage, max_characters: int) -> None:
        self._text_page = page.get_textpage()
        self._sides_read = [ctypes.c_double() for _ in range(4)]
        self._rectangle = pdfium_c.FS_RECTF()
        self._matrix = pdfium_c.FS_MATRIX()
        self._name = ctypes.create_string_buffer(_MAX_NAME_BYTES)
        self._segments: dict[int, list[Segment]] = {}
        self._joined = 0  # how many lines were joined of parts beside each other: their numbers are below -1
        self._ends: dict[int, int] = {}  # where a line starts → where it ends: pdfium may have put the next one to it
        count = self._text_page.count_chars()
        text = _BLANKS.sub(" ", read_characters(self._text_page)) if 0 < count <= max_characters else ""
        if ligatures := find_ligatures(self._text_page, text):
            text = "".join(_MARKS.get(ligatures.get(place, ""), sign) for place, sign in enumerate(text))
        text = Accents(self._box, self._base_line, self._size).compose(text)
        self.text = join_raised(text, self._box, self._base_line, self._size)
        self._overprinted: set[int] = set()  # where lines start that are bold because they are printed several times
        self.text = "".join(self._without_copies())
        self._missing: set[int] = set()  # before which characters a space is missing
        self.text = "".join(self._with_word_spaces())

    def _without_copies(self) -> Iterator[str]:
        start = 0
        for line in _LINE.findall(self.text):
            words = line.removesuffix("\r\n")
            once = leave_out_copies(words, start, self._box)
            if once != words:
                self._overprinted.add(start)
            yield once + line[len(words) :]
            start += len(line)

    def _with_word_spaces(self) -> Iterator[str]:
        start = 0
        for line in _LINE.findall(self.text):
            words = line.removesuffix("\r\n")
            spaced, missing = find_word_spaces(words, start, partial(self._box, loose=True), self._size)
            self._missing.update(start + place for place in missing)
            yield spaced + line[len(words) :]
            start += len(line)

    def _shown(self, start: int, text: str) -> str:
        """Return a text that starts at this character as it is read, with ligatures and the spaces that are missing."""
        if self._missing and not self._missing.isdisjoint(range(start + 1, start + len(text))):
            spaces = (" " if start + place in self._missing and place else "" for place in range(len(text)))
            text = "".join(space + character for space, character in zip(spaces, text, strict=True))
        return text.translate(_LIGATURES)

    def lines(self) -> list[TextLine]:
        """Return the lines that have letters, digits or signs such as "€", in the order in which they were written."""
        return list(self._lines())

    def segments(self, line: TextLine) -> list[Segment]:
        """Return the parts of a line between wide gaps."""
        if line.start < 0:
            return self._segments.get(line.start, [])
        if line.start not in self._segments:
            self._segments[line.start] = self._split(line)
        return self._segments[line.start]

    def join(self, lines: Sequence[TextLine], segments: Sequence[Segment]) -> TextLine:
        """Return a line of parts beside each other, each of which is in the line of the same place."""
        self._joined += 1
        self._segments[-1 - self._joined] = list(segments)
        first, last = lines[0], lines[-1]
        return replace(
            first,
            text=" ".join(segment.text for segment in segments),
            left=segments[0].left,
            is_bold=all(line.is_bold for line in lines),
            ends_bold=last.ends_bold,
            color=first.color if all(line.color == first.color for line in lines) else None,
            start=-1 - self._joined,
        )

    def _split(self, line: TextLine) -> list[Segment]:
        parts: list[Segment] = []
        begin, text, offset = 0, self.text[line.start : self._ends[line.start]], line.start
        while begin < len(text) and text[begin] == " ":
            begin += 1
        space = text.find(" ", begin)
        while space >= 0:
            following = space
            while following < len(text) and text[following] == " ":
                following += 1
            if following == len(text):
                break
            if self._box(offset + following)[0] - self._box(offset + space - 1)[2] > _CELL_GAP * line.height:
                parts.append(self._segment(text, begin, space, offset))
                begin = following
            space = text.find(" ", following)
        stripped = len(text.rstrip())
        return [*parts, self._segment(text, begin, stripped, offset)] if stripped > begin else parts

    def _segment(self, text: str, begin: int, end: int, offset: int) -> Segment:
        left, right = self._box(offset + begin)[0], self._box(offset + end - 1)[2]
        return Segment(self._shown(offset + begin, text[begin:end]), left, max(left, right))

    def _lines(self) -> Iterator[TextLine]:
        for start, written in self._written_lines():
            words = self._with_bullet(start, written)
            signs = BULLETS if words.strip() in BULLETS else _SIGNS
            letters = [place for place, character in enumerate(words) if character.isalnum() or character in signs]
            if letters:
                first, last = start + letters[0], start + letters[-1]
                left, height = self._box(first, loose=True)[0], self._height([start + place for place in letters])
                # The number of a heading may be in the type of the text.
                first_letter = next((place for place in letters if words[place].isalpha()), letters[0])
                fonts = self._font(start + first_letter), self._font(last)
                is_bold, is_fixed = (all(font[place] for font in fonts) for place in (0, 1))
                is_bold = is_bold or start in self._overprinted
                if is_reversed := is_right_to_left(words):
                    words = in_reading_order(words, partial(self._sides, start), height)
                line_start = -1 if is_reversed else start
                self._ends[start] = start + len(words)
                words = words.translate(_LIGATURES) if is_reversed else self._shown(start, words)
                bottom, end = self._base_line(first), self._base_line(last)
                ends_bold = fonts[1][0] or start in self._overprinted
                colors = self._color(first), self._color(last)
                color = colors[0] if colors[0] == colors[1] else None
                yield TextLine(words, left, bottom, end, height, is_bold, is_fixed, line_start, ends_bold, color)

    def _with_bullet(self, start: int, words: str) -> str:
        """Return a line with a sign for the letter that Word has as a bullet: an "o" as wide as all other letters."""
        place = len(words) - len(words.lstrip())
        last = len(words.rstrip()) - 1
        if words[place : place + 2] != "o " or last <= place or not self._font(start + place)[1]:
            return words
        return words if self._font(start + last)[1] else f"{words[:place]}◦{words[place + 1 :]}"

    def _written_lines(self) -> Iterator[tuple[int, str]]:
        """Yield where each line starts, and the line. pdfium sometimes puts the first line of a column to another."""
        start = 0
        for line in _LINE.findall(self.text):
            words = line.removesuffix("\r\n")
            begin = 0
            for end in self._line_ends(start, words):
                yield start + begin, words[begin:end]
                begin = end
            yield start + begin, words[begin:]
            start += len(line)

    def _line_ends(self, start: int, words: str) -> list[int]:
        """Return where a line goes on below, but not within a word."""
        letters = [place for place, character in enumerate(words) if character.isalnum()]
        if not letters or SOFT_HYPHEN in words:
            return []
        height = self._size(start + letters[0])
        if abs(self._base_line(start + letters[0]) - self._base_line(start + letters[-1])) < height / 2:
            return []
        ends, line = [], self._base_line(start + letters[0])
        for previous, place in pairwise(letters):
            below = self._base_line(start + place)
            if line - below > height / 2 and " " in words[previous:place]:
                ends.append(words.index(" ", previous) + 1)
                line = below
        return ends

    def _box(self, number: int, *, loose: bool = False) -> tuple[float, float, float, float]:
        """Return left, bottom, right and top of a character."""
        if loose:
            pdfium_c.FPDFText_GetLooseCharBox(self._text_page, number, self._rectangle)
            return self._rectangle.left, self._rectangle.bottom, self._rectangle.right, self._rectangle.top
        left, right, bottom, top = self._sides_read
        pdfium_c.FPDFText_GetCharBox(self._text_page, number, left, right, bottom, top)
        return left.value, bottom.value, right.value, top.value

    def _base_line(self, number: int) -> float:
        x, y = self._sides_read[:2]
        pdfium_c.FPDFText_GetCharOrigin(self._text_page, number, x, y)
        return y.value

    def _size(self, number: int) -> float:
        """Return the size of a character's font as it is seen: that of the font, times how it is drawn."""
        pdfium_c.FPDFText_GetMatrix(self._text_page, number, self._matrix)
        size = pdfium_c.FPDFText_GetFontSize(self._text_page, number) * math.hypot(self._matrix.c, self._matrix.d)
        return size if size > 1 else 1.0

    def _height(self, letters: Sequence[int]) -> float:
        """Return the size of the first letter, or of the others if it is the large initial of a text."""
        height = self._size(letters[0])
        others = max((self._size(number) for number in (*letters[1:2], letters[-1])), default=height)
        return others if height > _MIN_INITIAL * others else height

    def _sides(self, start: int, number: int) -> tuple[float, float]:
        left, _, right, _ = self._box(start + number, loose=True)  # with the space beside the letter
        return left, right

    def _font(self, number: int) -> tuple[bool, bool]:
        """Return whether a character is bold, and whether its font has letters of the same width.

        By the font's name: the weight that pdfium computes is that of bold type for many other fonts.
        """
        flags = ctypes.c_int()
        length = pdfium_c.FPDFText_GetFontInfo(self._text_page, number, self._name, _MAX_NAME_BYTES, flags)
        known = self._name.value.lower() if 0 < length <= _MAX_NAME_BYTES else b""
        is_fixed = bool(flags.value & _FIXED_PITCH) or any(part in known for part in _FIXED_NAMES)
        is_bold = any(part in known for part in _BOLD_NAMES) or known.endswith(_BOLD_ENDINGS)
        return is_bold or self._has_outline(number), is_fixed

    def _color(self, number: int) -> tuple[int, int, int]:
        red, green, blue, alpha = (ctypes.c_uint() for _ in range(4))
        pdfium_c.FPDFText_GetFillColor(self._text_page, number, red, green, blue, alpha)
        return red.value, green.value, blue.value

    def _has_outline(self, number: int) -> bool:
        """Return whether a character is filled and has a line around it: bold type of fonts that have none."""
        drawn = pdfium_c.FPDFText_GetTextObject(self._text_page, number)
        return bool(drawn) and pdfium_c.FPDFTextObj_GetTextRenderMode(drawn) == pdfium_c.FPDF_TEXTRENDERMODE_FILL_STROKE
