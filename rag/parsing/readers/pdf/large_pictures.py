"""Pages of a PDF that are a picture with a short text on it, such as scans with a stamp and flyers."""

import itertools
from collections import Counter
from collections.abc import Sequence

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

# Which share of a page a large picture covers, and how many objects of a page are looked at.
_MIN_SHARE, _MAX_OBJECTS = 0.5, 1_000
# A picture that more pages have is the background of slides.
_MAX_PAGES_OF_A_PICTURE = 2


def find_pages_of_pictures(content: bytes, numbers: Sequence[int]) -> list[int]:
    """Return those of the pages that have a large picture of their own.

    Args:
        content: The PDF.
        numbers: The numbers of the pages, from 1.
    """
    try:
        with pdfium.PdfDocument(content) as document:
            pictures = {number: _large_picture(document[number - 1]) for number in numbers if number <= len(document)}
    except pdfium.PdfiumError:
        return []
    counts = Counter(pictures.values())
    return [number for number, picture in pictures.items() if picture and counts[picture] <= _MAX_PAGES_OF_A_PICTURE]


def _large_picture(page: pdfium.PdfPage) -> tuple[int, int, int] | None:
    """Return what tells the largest picture of a page from others: its width, its height and its size in bytes."""
    area = page.get_width() * page.get_height()
    pictures = page.get_objects(filter=[pdfium_c.FPDF_PAGEOBJ_IMAGE], max_depth=3)
    for picture in itertools.islice(pictures, _MAX_OBJECTS):
        left, bottom, right, top = picture.get_bounds()
        if (right - left) * (top - bottom) >= _MIN_SHARE * area:
            return (*picture.get_px_size(), pdfium_c.FPDFImageObj_GetImageDataRaw(picture, None, 0))
    return None
