"""The values of the fields of a form (AcroForm), which are not in the text of a page."""

import ctypes
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from .text_lines import TextLine

_MAX_FIELDS, _MAX_BYTES = 1_000, 20_000


@dataclass(frozen=True, slots=True)
class Field:
    """The text in a field, and the place of the field, in points from the lower left corner of the page."""

    text: str
    left: float
    bottom: float
    top: float


def insert(fields: Sequence[Field], lines: Sequence[TextLine]) -> list[TextLine]:
    """Return the lines with the texts of the fields: each after the line that it is in, or as a line at the end."""
    result = list(lines)
    for field in fields:
        in_line = [
            number
            for number, line in enumerate(result)
            if line.left < field.left and field.bottom - line.height / 2 <= line.bottom <= field.top
        ]
        if in_line:
            number = max(in_line, key=lambda number: result[number].left)
            result[number] = replace(result[number], text=f"{result[number].text} {field.text}")
        else:
            height = max(field.top - field.bottom, 1.0)
            result.append(TextLine(field.text, field.left, field.bottom, field.bottom, height, False, False, -1))
    return result


def read_values(page: pdfium.PdfPage) -> list[Field]:
    """Return the fields of a page that have a text."""
    return list(_values(page))


def _values(page: pdfium.PdfPage) -> Iterator[Field]:
    """Yield the fields that have a text and are not hidden."""
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
                    yield Field(value, rectangle.left, rectangle.bottom, rectangle.top)
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
