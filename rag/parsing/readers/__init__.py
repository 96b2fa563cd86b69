"""Readers: one module for each family of formats. They run in the sandbox, without Django and its settings.

A reader takes the bytes of a file and the limits. It returns a ParsedDocument without a media type, or raises
ParseFailed.
"""

from functools import partial

from rag.parsing import formats

from . import data, notebooks, office, open_document, plain, slides, subtitles, tables, web
from .messages import mail, mailbox, records
from .registry import READERS, Reader, get_reader

__all__ = ["READERS", "Reader", "get_reader"]

READERS.update(
    {
        formats.PDF: office.read_pdf,
        formats.DOCX: office.read_docx,
        formats.XLSX: office.read_xlsx,
        formats.XLSB: office.read_xlsb,
        formats.PPTX: slides.read,
        formats.ODT: partial(office.read_open_document, media_type=formats.ODT),
        formats.ODS: partial(office.read_open_document, media_type=formats.ODS),
        formats.ODP: open_document.read_presentation,
        formats.RTF: office.read_rtf,
        formats.DOC: partial(office.read_old_office, media_type=formats.DOC),
        formats.XLS: partial(office.read_old_office, media_type=formats.XLS),
        formats.PPT: office.read_ppt,
        formats.EPUB: partial(office.read_book, media_type=formats.EPUB),
        formats.FB2: partial(office.read_book, media_type=formats.FB2),
        formats.MSG: mail.read_msg,
        formats.EML: mail.read_eml,
        formats.MBOX: mailbox.read,
        formats.ICS: records.read_calendar,
        formats.VCF: records.read_contacts,
        formats.HTML: web.read,
        formats.CSV: tables.read_csv,
        formats.TSV: tables.read_csv,
        formats.JSON: data.read,
        formats.NOTEBOOK: notebooks.read,
        formats.VTT: subtitles.read,
        formats.SRT: subtitles.read,
        formats.MARKDOWN: plain.read_markdown,
    }
)
