"""Pictures, and pages of a PDF without text: their text is recognised (docs/decisions/0056-text-recognition.md)."""

import dataclasses
import re
from collections.abc import Iterator
from io import BytesIO
from typing import TYPE_CHECKING

from rag.errors import ParseFailed
from rag.parsing.markdown_builder import MarkdownBuilder
from rag.parsing.sandbox.limits import Limits, allow_ocr_time
from rag.types import ParsedDocument

from . import models
from .ocr_off_message import OCR_IS_OFF
from .render_pdf_pages import count_pages, read_pages

if TYPE_CHECKING:
    from PIL.Image import Image

# A page of 30 x 40 cm with 600 dots per inch.
_MAX_PIXELS = 67_000_000
# Larger pictures are reduced: a page of A4 with 350 dots per inch.
_MAX_SIDE = 4200
_LETTER_OR_DIGIT = re.compile(r"[^\W_]")


def read_picture(content: bytes, limits: Limits) -> ParsedDocument:
    """Read the text of a picture. Each picture of a TIFF file is a page.

    Raises:
        ParseFailed: If text recognition is off, the picture is damaged or too large, or has no text.
    """
    if not limits.ocr_pages:
        raise ParseFailed(OCR_IS_OFF.format("The file is a picture"))
    builder = MarkdownBuilder()
    for number, picture in enumerate(_open(content), 1):
        if number > limits.ocr_pages:
            raise ParseFailed(_too_many(limits))
        builder.add_page(number)
        _recognize(picture, builder)
    parsed = builder.build()
    if not _LETTER_OR_DIGIT.search(parsed.text):
        raise ParseFailed("No text was recognised in the picture. Send a sharper or larger picture.")
    title = parsed.headings[0].title if parsed.headings else ""
    return dataclasses.replace(parsed, title=title)


def recognize_pages(texts: dict[int, str], content: bytes, limits: Limits) -> tuple[dict[int, str], list[int]]:
    """Recognise the text of pages that have no text layer. A page with a text layer is never changed.

    Args:
        texts: The Markdown of the pages by their numbers, which start at 1. Pages without text may be missing.
        content: The PDF file.
        limits: The limits, with the number of pages to recognise. Further pages stay empty.

    Returns:
        The texts in the order of the pages, with those that had none; and the numbers of the pages that were not read,
        because there are too many.

    Raises:
        ParseFailed: If no page has text, and there are too many of them.
    """
    if not limits.ocr_pages or not models.is_installed():
        return texts, []
    count = count_pages(content)
    # xberg leaves out pages without text if other pages have some.
    empty = [number for number in range(1, count + 1) if not _LETTER_OR_DIGIT.search(texts.get(number, ""))]
    if count == len(empty) > limits.ocr_pages:
        raise ParseFailed(_too_many(limits))
    if not empty:
        return texts, []
    recognized = texts | read_pages(content, empty[: limits.ocr_pages], _recognize_page, limits)
    return dict(sorted(recognized.items())), empty[limits.ocr_pages :]


def _recognize_page(content: bytes) -> str:
    builder = MarkdownBuilder()
    for picture in _open(content):
        _recognize(picture, builder)
    return builder.build().text


def _recognize(picture: "Image", builder: MarkdownBuilder) -> None:
    from . import layout, lines  # not loaded before it is needed

    allow_ocr_time()
    layout.add_lines(builder, lines.read_lines(picture))


def _open(content: bytes) -> Iterator["Image"]:
    """Yield the pictures of a file in RGB, upright and on a white background.

    Raises:
        ParseFailed: If the file is damaged or a picture too large.
    """
    from PIL import Image, ImageOps, UnidentifiedImageError

    Image.MAX_IMAGE_PIXELS = None  # checked here, with an error of our own
    try:
        with Image.open(BytesIO(content), formats=("PNG", "JPEG", "TIFF", "WEBP")) as file:
            for number in range(getattr(file, "n_frames", 1) if file.format == "TIFF" else 1):
                file.seek(number)
                if file.width * file.height > _MAX_PIXELS:
                    millions = _MAX_PIXELS // 10**6
                    raise ParseFailed(f"The picture has more than {millions} million pixels. Send it smaller.")
                file.draft("RGB", (_MAX_SIDE, _MAX_SIDE))
                picture = ImageOps.exif_transpose(file)
                if picture.has_transparency_data:
                    picture = picture.convert("RGBA")
                    white = Image.new("RGBA", picture.size, "white")
                    picture = Image.alpha_composite(white, picture)
                picture = _as_rgb(picture)
                picture.thumbnail((_MAX_SIDE, _MAX_SIDE))
                yield picture
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError, EOFError) as error:
        raise ParseFailed("The picture is damaged or cut off. Open it, save it again and send that.") from error


def _as_rgb(picture: "Image") -> "Image":
    if picture.mode.startswith("I;16"):  # 16 bits: Pillow would cut off values instead of scaling them
        picture = picture.convert("I").point(lambda value: value / 256).convert("L")
    return picture.convert("RGB")


def _too_many(limits: Limits) -> str:
    return (
        f"More than {limits.ocr_pages} pages are pictures (scans): RAG_OCR_MAX_PAGES. "
        "Send them in parts, or with a text layer."
    )
