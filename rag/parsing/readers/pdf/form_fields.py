"""The values of the fields of a form (AcroForm), which are not in the text of a page."""

import ctypes
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from .text_lines import TextLine

_MAX_FIELDS, _MAX_BYTES = 1_000, 20_000
_WITH_TEXT = {pdfium_c.FPDF_FORMFIELD_TEXTFIELD, pdfium_c.FPDF_FORMFIELD_COMBOBOX, pdfium_c.FPDF_FORMFIELD_LISTBOX}


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


def read_values(document: pdfium.PdfDocument, page: pdfium.PdfPage) -> list[Field]:
    """Return the fields of a page that have a text.

    Args:
        document: The document of the page, whose forms are initialised if it has any.
        page: The page.
    """
    return list(_values(document.formenv, page)) if document.formenv else []


def _values(form: pdfium.PdfFormEnv, page: pdfium.PdfPage) -> Iterator[Field]:
    """Yield the fields that have a text and are not hidden."""
    for number in range(min(pdfium_c.FPDFPage_GetAnnotCount(page), _MAX_FIELDS)):
        annotation = pdfium_c.FPDFPage_GetAnnot(page, number)
        if not annotation:
            continue
        try:
            is_hidden = pdfium_c.FPDFAnnot_GetFlags(annotation) & pdfium_c.FPDF_ANNOT_FLAG_HIDDEN
            # Check boxes and choices have names as values, which are not texts.
            if not is_hidden and pdfium_c.FPDFAnnot_GetFormFieldType(form, annotation) in _WITH_TEXT:
                rectangle = pdfium_c.FS_RECTF()
                pdfium_c.FPDFAnnot_GetRect(annotation, rectangle)
                if value := " ".join(_text(form, annotation).split()):
                    yield Field(value, rectangle.left, rectangle.bottom, rectangle.top)
        finally:
            pdfium_c.FPDFPage_CloseAnnot(annotation)


def _text(form: pdfium.PdfFormEnv, annotation: pdfium_c.FPDF_ANNOTATION) -> str:
    """Return the text of a field. It may belong to several places, which are objects of their own."""
    length = pdfium_c.FPDFAnnot_GetFormFieldValue(form, annotation, None, 0)
    if not 2 < length <= _MAX_BYTES:
        return ""
    buffer = (ctypes.c_ushort * (length // 2))()
    pdfium_c.FPDFAnnot_GetFormFieldValue(form, annotation, buffer, length)
    return bytes(buffer).decode("utf-16-le", "replace").rstrip("\0")
