"""Pages that are turned when they are shown, such as those of scanners: they are read as they are shown."""

import io

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

_MAX_PAGES = 1_000


def turn_upright(document: pdfium.PdfDocument) -> bytes:
    """Turn the content of the pages instead of the pages, and return the file; empty if no page is turned.

    pdfium goes by the places of letters on the page that is not turned.
    """
    turned = [number for number in range(min(len(document), _MAX_PAGES)) if document[number].get_rotation()]
    if not turned:
        return b""
    for number in turned:
        _turn(document[number])
    written = io.BytesIO()
    document.save(written)
    return written.getvalue()


def _turn(page: pdfium.PdfPage) -> None:
    left, bottom, right, top = page.get_cropbox()
    width, height = right - left, top - bottom
    matrix, size = {
        90: ((0, -1, 1, 0, -bottom, right), (height, width)),
        180: ((-1, 0, 0, -1, right, top), (width, height)),
        270: ((0, 1, -1, 0, top, -left), (height, width)),
    }[page.get_rotation()]
    pdfium_c.FPDFPage_TransFormWithClip(page, pdfium_c.FS_MATRIX(*matrix), None)
    pdfium_c.FPDFPage_TransformAnnots(page, *matrix)
    page.set_rotation(0)
    page.set_mediabox(0, 0, *size)
    page.set_cropbox(0, 0, *size)
