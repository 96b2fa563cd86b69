"""The values of the fields of a form (AcroForm), which are not in the text of a page."""

import ctypes
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from .text_lines import TextLine

_MAX_FIELDS, _MAX_BYTES = 1_000, 20_000


def with_values(page: pdfium.PdfPage, lines: Sequence[TextLine]) -> list[TextLine]:
    """Return the lines with the values of the fields: each after the line that it is in, or as a line at the end."""
    result = list(lines)
    for value, left, bottom, top in _values(page):
        in_line = [
            number
            for number, line in enumerate(result)
            if line.left < left and bottom - line.height / 2 <= line.bottom + line.height / 2 <= top + line.height / 2
        ]
        if in_line:
            number = max(in_line, key=lambda number: result[number].left)
            result[number] = replace(result[number], text=f"{result[number].text} {value}")
        else:
            result.append(TextLine(value, left, bottom, bottom, max(top - bottom, 1.0), False, False, -1))
    return result


def _values(page: pdfium.PdfPage) -> Iterator[tuple[str, float, float, float]]:
    """Yield the text of each field that has one, and its left, bottom and top."""
    for number in range(min(pdfium_c.FPDFPage_GetAnnotCount(page), _MAX_FIELDS)):
        annotation = pdfium_c.FPDFPage_GetAnnot(page, number)
        if not annotation:
            continue
        try:
            is_hidden = pdfium_c.FPDFAnnot_GetFlags(annotation) & pdfium_c.FPDF_ANNOT_FLAG_HIDDEN
            if pdfium_c.FPDFAnnot_GetSubtype(annotation) == pdfium_c.FPDF_ANNOT_WIDGET and not is_hidden:
                rectangle = pdfium_c.FS_RECTF()
                pdfium_c.FPDFAnnot_GetRect(annotation, rectangle)
                # Check boxes and choices have names as values, which are not texts.
                if value := " ".join(_text(annotation).split()):
                    yield value, rectangle.left, rectangle.bottom, rectangle.top
        finally:
            pdfium_c.FPDFPage_CloseAnnot(annotation)


def _text(annotation: pdfium_c.FPDF_ANNOTATION) -> str:
    if pdfium_c.FPDFAnnot_GetValueType(annotation, b"V") != pdfium_c.FPDF_OBJECT_STRING:
        return ""
    length = pdfium_c.FPDFAnnot_GetStringValue(annotation, b"V", None, 0)
    if not 2 < length <= _MAX_BYTES:
        return ""
    buffer = (ctypes.c_ushort * (length // 2))()
    pdfium_c.FPDFAnnot_GetStringValue(annotation, b"V", buffer, length)
    return bytes(buffer).decode("utf-16-le", "replace").rstrip("\0")
