"""Draws the page of a PDF or the picture that a citation shows, with the passage marked.

Runs in the parser's sandbox only: a file is untrusted.
"""

import ctypes
import re
from collections.abc import Iterator, Sequence
from io import BytesIO
from typing import TYPE_CHECKING

from rag.errors import ParseFailed
from rag.parsing.encodings.symbol_letters import write_letters
from rag.parsing.ocr.open_pictures import open_pictures
from rag.types import LineBox

if TYPE_CHECKING:
    from PIL.Image import Image
    from pypdfium2 import PdfPage, PdfPosConv

_WIDTH_PIXELS = 1_100
_MAX_HEIGHT_PIXELS = 2_200
_MAX_CHARACTERS = 50_000
_QUALITY = 80
# Words of the page are marked if at least this many consecutive ones are in the passage.
_CONSECUTIVE_WORDS = 4
_MARK = (255, 221, 87)
_MARGIN_PIXELS = 2
# PDFium shows a hyphen at the end of a line as one of these characters.
_WORD = re.compile(r"\w+(?:(?:[\x02\u00ad\ufffe]|-\s*\n)\s*\w+)*")
_NOT_A_LETTER = re.compile(r"\W|_")

Rectangle = tuple[int, int, int, int]


def draw_cited_page(content: bytes, numbers: Sequence[int], passage: str, line_boxes: Sequence[LineBox] = ()) -> bytes:
    """Draw the page that has most of a passage, with the words of the passage marked.

    Args:
        content: The PDF.
        numbers: The numbers of the pages where the passage may be, from 1.
        passage: The passage, as it was read from the PDF.
        line_boxes: Where the recognised lines of the passage are, on pages that have no text.

    Returns:
        A picture in the format WebP. If none of the pages has a text that is known to be of the passage, it shows the
        first page, and nothing is marked.

    Raises:
        ParseFailed: If the PDF has none of the pages.
    """
    import pypdfium2  # not loaded before it is needed

    with pypdfium2.PdfDocument(content) as document:
        existing = [number for number in numbers if 1 <= number <= len(document)]
        if not existing:
            raise ParseFailed("The PDF has no such page.")
        ranges = {number: list(_find_words(document[number - 1], passage)) for number in existing}
        number = max(existing, key=lambda number: _count_marked(ranges[number], line_boxes, number))
        return _draw(document[number - 1], ranges[number], _boxes_of(line_boxes, number))


def draw_cited_picture(content: bytes, numbers: Sequence[int], line_boxes: Sequence[LineBox]) -> bytes:
    """Draw the picture that has most of a passage, with the lines of the passage marked.

    Args:
        content: The file, of which each picture is a page.
        numbers: The numbers of the pages where the passage may be, from 1.
        line_boxes: Where the recognised lines of the passage are.

    Returns:
        A picture in the format WebP.

    Raises:
        ParseFailed: If the file has no such picture, or is damaged.
    """
    number = max(numbers, key=lambda number: _count_marked([], line_boxes, number), default=0)
    picture = next(open_pictures(content, first=number), None) if number > 0 else None
    if picture is None:
        raise ParseFailed("The file has no such picture.")
    scale = min(_WIDTH_PIXELS / picture.width, _MAX_HEIGHT_PIXELS / picture.height, 1)
    picture = picture.resize((max(round(picture.width * scale), 1), max(round(picture.height * scale), 1)))
    return _mark(picture, _on_picture(_boxes_of(line_boxes, number), picture))


def _count_marked(ranges: list[tuple[int, int]], line_boxes: Sequence[LineBox], number: int) -> int:
    """Return how many characters of a page would be marked."""
    lines = [(box.start, box.end) for box in _boxes_of(line_boxes, number)]
    return sum(end - start for start, end in [*ranges, *lines])


def _boxes_of(line_boxes: Sequence[LineBox], number: int) -> list[LineBox]:
    return [box for box in line_boxes if box.page == number]


def _draw(page: "PdfPage", ranges: list[tuple[int, int]], line_boxes: Sequence[LineBox]) -> bytes:
    width, height = page.get_size()
    scale = min(_WIDTH_PIXELS / max(width, 1), _MAX_HEIGHT_PIXELS / max(height, 1))
    bitmap = page.render(scale=scale)
    picture = bitmap.to_pil().convert("RGB")
    position = bitmap.get_posconv(page)
    return _mark(picture, [*_rectangles(page, position, ranges), *_on_picture(line_boxes, picture)])


def _on_picture(line_boxes: Sequence[LineBox], picture: "Image") -> list[Rectangle]:
    """Return the pixels of the left, top, right and bottom edge of each box."""
    width, height = picture.size
    return [
        (round(box.left * width), round(box.top * height), round(box.right * width), round(box.bottom * height))
        for box in line_boxes
    ]


def _mark(picture: "Image", rectangles: Sequence[Rectangle]) -> bytes:
    """Colour the rectangles, and return the picture as a file."""
    from PIL import Image, ImageChops

    for left, top, right, bottom in rectangles:
        box = (max(left, 0), max(top, 0), min(right, picture.width), min(bottom, picture.height))
        if box[0] < box[2] and box[1] < box[3]:
            part = picture.crop(box)
            picture.paste(ImageChops.multiply(part, Image.new("RGB", part.size, _MARK)), box)
    file = BytesIO()
    picture.save(file, "WEBP", quality=_QUALITY)
    return file.getvalue()


def _rectangles(page: "PdfPage", position: "PdfPosConv", ranges: list[tuple[int, int]]) -> Iterator[Rectangle]:
    """Yield the pixels of the left, top, right and bottom edge of each line of these ranges of characters."""
    text = page.get_textpage()
    for start, end in ranges:
        for number in range(text.count_rects(start, end - start)):
            left, bottom, right, top = text.get_rect(number)
            corners = [position.to_bitmap(x, y) for x in (left, right) for y in (bottom, top)]
            columns, rows = zip(*corners, strict=True)
            yield (
                min(columns) - _MARGIN_PIXELS,
                min(rows) - _MARGIN_PIXELS,
                max(columns) + _MARGIN_PIXELS,
                max(rows) + _MARGIN_PIXELS,
            )


def _find_words(page: "PdfPage", passage: str) -> Iterator[tuple[int, int]]:
    """Yield the ranges of characters of a page where its words are those of the passage."""
    words = [(match.start(), match.end(), _plain(match[0])) for match in _WORD.finditer(_characters(page))]
    expected = [_plain(word) for word in _WORD.findall(passage)]
    size = min(_CONSECUTIVE_WORDS, len(expected))
    if not size:
        return
    groups = {tuple(expected[start : start + size]) for start in range(len(expected) - size + 1)}
    first, last = 0, 0  # the words that are in the passage, so far without a gap
    for start in range(len(words) - size + 1):
        if tuple(word for _, _, word in words[start : start + size]) in groups:
            if start > last and last:
                yield words[first][0], words[last - 1][1]
            if start > last or not last:
                first = start
            last = start + size
    if last:
        yield words[first][0], words[last - 1][1]


def _characters(page: "PdfPage") -> str:
    """Return the text of a page, with one character at each index of PDFium; a space where it is no character."""
    from pypdfium2 import raw

    text = page.get_textpage()
    count = min(text.count_chars(), _MAX_CHARACTERS)
    codes = (raw.FPDFText_GetUnicode(text, ctypes.c_int(number)) for number in range(count))
    return "".join(chr(code) if 0 < code < 0xD800 or 0xDFFF < code < 0x110000 else " " for code in codes)


def _plain(word: str) -> str:
    return _NOT_A_LETTER.sub("", write_letters(word)).lower()
