"""The readers of all formats, by MIME type."""

from collections.abc import Callable
from functools import partial

from rag.parsing import formats
from rag.parsing.ocr.read_pictures import read_picture
from rag.parsing.sandbox.limits import Limits
from rag.types import ParsedDocument

from . import csv_tables, json_data, notebooks, plain_text_and_markdown, subtitles
from .messages import calendars_and_contacts, mail, mailbox
from .office import text_documents
from .office.legacy import slides as legacy_slides
from .office.sheets import spreadsheets
from .office.slides import open_document, powerpoint
from .pdf import read_pdf
from .web import read_web

Reader = Callable[[bytes, Limits], ParsedDocument]


def get_reader(media_type: str) -> Reader:
    """Return the reader of a format. A type without a reader is text, which is kept unchanged."""
    return READERS.get(media_type, plain_text_and_markdown.read)


READERS: dict[str, Reader] = {
    formats.PDF: read_pdf.read,
    formats.DOCX: text_documents.read_docx,
    formats.XLSX: partial(spreadsheets.read, media_type=formats.XLSX),
    formats.XLSB: partial(spreadsheets.read, media_type=formats.XLSB),
    formats.PPTX: powerpoint.read,
    formats.ODT: text_documents.read_odt,
    formats.ODS: partial(spreadsheets.read, media_type=formats.ODS),
    formats.ODP: open_document.read_presentation,
    formats.RTF: text_documents.read_rtf,
    formats.DOC: text_documents.read_doc,
    formats.XLS: partial(spreadsheets.read, media_type=formats.XLS),
    formats.PPT: legacy_slides.read,
    formats.EPUB: partial(text_documents.read_book, media_type=formats.EPUB),
    formats.FB2: partial(text_documents.read_book, media_type=formats.FB2),
    **{
        media_type: partial(plain_text_and_markdown.read_markup, media_type=media_type)
        for media_type in (formats.ASCIIDOC, formats.ORG, formats.TEX)
    },
    formats.MSG: partial(mail.read_msg, get_reader=get_reader),
    formats.EML: partial(mail.read_eml, get_reader=get_reader),
    formats.MBOX: partial(mailbox.read, get_reader=get_reader),
    formats.ICS: calendars_and_contacts.read_calendar,
    formats.VCF: calendars_and_contacts.read_contacts,
    formats.HTML: read_web.read,
    formats.CSV: csv_tables.read_csv,
    formats.TSV: csv_tables.read_csv,
    formats.JSON: json_data.read,
    formats.JSON_LINES: json_data.read_lines,
    formats.NOTEBOOK: notebooks.read,
    formats.VTT: subtitles.read,
    formats.SRT: subtitles.read,
    formats.TTML: subtitles.read_timed_text,
    formats.SSA: subtitles.read_script,
    formats.SBV: subtitles.read,
    formats.MARKDOWN: plain_text_and_markdown.read_markdown,
    **dict.fromkeys(formats.PICTURES, read_picture),
}
