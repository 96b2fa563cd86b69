"""Readers: one module for each family of formats. They run in the sandbox, without Django and its settings.

A reader takes the bytes of a file and the limits. It returns a ParsedDocument without a media type, or raises
ParseFailed.
"""

from collections.abc import Callable

from rag.parsing import formats
from rag.parsing.sandbox.limits import Limits
from rag.types import ParsedDocument

from . import data, mail, notebooks, office, plain, slides, subtitles, tables, web

Reader = Callable[[bytes, Limits], ParsedDocument]

READERS: dict[str, Reader] = {
    formats.PDF: office.read_pdf,
    formats.DOCX: office.read_docx,
    formats.XLSX: office.read_xlsx,
    formats.EPUB: office.read_epub,
    formats.MSG: mail.read_msg,
    formats.PPTX: slides.read,
    formats.HTML: web.read,
    formats.EML: mail.read_eml,
    formats.CSV: tables.read_csv,
    formats.TSV: tables.read_csv,
    formats.JSON: data.read,
    formats.NOTEBOOK: notebooks.read,
    formats.VTT: subtitles.read,
    formats.SRT: subtitles.read,
    formats.MARKDOWN: plain.read_markdown,
}


def get_reader(media_type: str) -> Reader:
    """Return the reader of a format. A type without a reader is text, which is kept unchanged."""
    return READERS.get(media_type, plain.read)
