"""Builds small files of each format, valid and hostile."""

from .archives import epub, packed
from .mail import eml, msg, msg_file, msg_message, ole
from .office import docx, paragraph, pptx, relations, xlsx
from .open_document import flat_open_document, odf_slide, open_document
from .pdfs import pdf, pdf_with_fields, pdf_with_letters

__all__ = [
    "docx",
    "eml",
    "epub",
    "flat_open_document",
    "msg",
    "msg_file",
    "msg_message",
    "odf_slide",
    "ole",
    "open_document",
    "packed",
    "paragraph",
    "pdf",
    "pdf_with_fields",
    "pdf_with_letters",
    "pptx",
    "relations",
    "xlsx",
]
