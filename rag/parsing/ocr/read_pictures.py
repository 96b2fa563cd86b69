"""Pictures, and pages of a PDF without text: their text is recognised (docs/decisions/0056-text-recognition.md)."""

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from rag.errors import ParseFailed
from rag.parsing.markdown_builder import MarkdownBuilder
from rag.parsing.readers.pdf.large_pictures import find_pages_of_pictures
from rag.parsing.sandbox.limits import Limits
from rag.types import ParsedDocument

from . import models
from .locate_lines import locate_lines
from .ocr_off_message import OCR_IS_OFF
from .open_pictures import open_pictures
from .recognized_page import RecognizedPage
from .render_pdf_pages import count_pages, read_pages

if TYPE_CHECKING:
    from PIL.Image import Image

_LETTER_OR_DIGIT = re.compile(r"[^\W_]")
# What lines of a form or of a table of contents are made of.
_LEADERS = re.compile(r"[\s._…|-]+")
# A text of so many other signs has one of these shares of letters, or with digits, unless its font does not tell them.
_MIN_SIGNS, _MIN_SHARE_OF_LETTERS, _MIN_SHARE_WITH_DIGITS = 100, 0.15, 0.3

# A page with a large picture and so few letters is recognised; the result counts if it has so many times as many.
_MAX_LETTERS_ON_PICTURE, _MIN_TIMES_AS_MANY = 100, 2


def read_picture(content: bytes, limits: Limits) -> ParsedDocument:
    """Read the text of a picture. Each picture of a TIFF file is a page.

    Raises:
        ParseFailed: If text recognition is off, the picture is damaged or too large, or has no text.
    """
    if not limits.ocr_pages:
        raise ParseFailed(OCR_IS_OFF.format("The file is a picture"))
    builder = MarkdownBuilder()
    pages: dict[int, RecognizedPage] = {}
    for number, picture in enumerate(open_pictures(content), 1):
        if number > limits.ocr_pages:
            raise ParseFailed(_too_many(limits))
        builder.add_page(number)
        pages[number] = _recognize(picture, builder, limits)
    parsed = add_recognized(builder.build(), pages)
    if not _LETTER_OR_DIGIT.search(parsed.text):
        raise ParseFailed("No text was recognised in the picture. Send a sharper or larger picture.")
    title = parsed.headings[0].title if parsed.headings else ""
    return dataclasses.replace(parsed, title=title)


@dataclass(frozen=True, slots=True)
class RecognizedPages:
    """The pages of a PDF after text recognition.

    Attributes:
        texts: The Markdown of the pages by their numbers, in their order.
        pages: The pages whose text was recognised, by their numbers.
        unread: The numbers of the pages that were not read, because there are too many.
    """

    texts: dict[int, str]
    pages: Mapping[int, RecognizedPage] = field(default_factory=dict)
    unread: tuple[int, ...] = ()


def recognize_pages(texts: dict[int, str], content: bytes, limits: Limits) -> RecognizedPages:
    """Recognise the text of pages that have no text layer, or one whose signs are no letters, and of large pictures.

    A picture with a short text on it is recognised as well. Other pages are never changed.

    Args:
        texts: The Markdown of the pages by their numbers, which start at 1. Pages without text may be missing.
        content: The PDF file.
        limits: The limits, with the number of pages to recognise. Further pages stay empty.

    Raises:
        ParseFailed: If no page has text, and there are too many of them.
    """
    if not limits.ocr_pages or not models.is_installed():
        return RecognizedPages(texts)
    count = count_pages(content)
    # xberg leaves out pages without text if other pages have some.
    empty = [number for number in range(1, count + 1) if not _is_readable(texts.get(number, ""))]
    if count == len(empty) > limits.ocr_pages:
        raise ParseFailed(_too_many(limits))
    letters = {number: _count_letters(text) for number, text in texts.items() if number not in empty}
    short = [number for number, letter_count in letters.items() if letter_count <= _MAX_LETTERS_ON_PICTURE]
    on_pictures = find_pages_of_pictures(content, short) if short else []
    numbers = [*empty, *on_pictures][: limits.ocr_pages]
    if not numbers:
        return RecognizedPages(texts)
    pages = read_pages(content, numbers, partial(_recognize_page, limits=limits), limits)
    pages = {
        number: page
        for number, page in pages.items()
        if number in empty or _count_letters(page.text) >= _MIN_TIMES_AS_MANY * letters[number]
    }
    texts = texts | {number: page.text for number, page in pages.items()}
    return RecognizedPages(dict(sorted(texts.items())), pages, tuple(empty[limits.ocr_pages :]))


def _count_letters(text: str) -> int:
    return sum(map(str.isalnum, text))


def _is_readable(text: str) -> bool:
    """Return whether a text layer has letters or digits. Some fonts say no letter for their signs."""
    if not _LETTER_OR_DIGIT.search(text):
        return False
    signs = _LEADERS.sub("", text)
    letters, with_digits = sum(map(str.isalpha, signs)), sum(map(str.isalnum, signs))
    is_text = letters >= _MIN_SHARE_OF_LETTERS * len(signs) or with_digits >= _MIN_SHARE_WITH_DIGITS * len(signs)
    return is_text or len(signs) < _MIN_SIGNS


def add_recognized(parsed: ParsedDocument, pages: Mapping[int, RecognizedPage]) -> ParsedDocument:
    """Return the document with where the recognised lines are and what reading them took.

    Args:
        parsed: The document with its pages.
        pages: The recognised pages by their numbers.
    """
    line_boxes = locate_lines(parsed, {number: page.lines for number, page in pages.items()})
    recognitions = tuple(page.recognition for page in pages.values())
    return dataclasses.replace(parsed, line_boxes=line_boxes, recognitions=recognitions)


def _recognize_page(content: bytes, limits: Limits) -> RecognizedPage:
    """Recognise the text of a file with one picture."""
    (picture,), builder = open_pictures(content), MarkdownBuilder()
    return dataclasses.replace(_recognize(picture, builder, limits), text=builder.build().text)


def _recognize(picture: "Image", builder: MarkdownBuilder, limits: Limits) -> RecognizedPage:
    from .recognize_picture import recognize_picture  # not loaded before it is needed

    return recognize_picture(picture, builder, limits)


def _too_many(limits: Limits) -> str:
    return (
        f"More than {limits.ocr_pages} pages are pictures (scans): RAG_OCR_MAX_PAGES. "
        "Send them in parts, or with a text layer."
    )
