"""Text documents: Word, OpenDocument, RTF, EPUB and FictionBook."""

import re

from rag.parsing import formats, zip_files
from rag.parsing.parse_markdown import parse_markdown
from rag.parsing.readers import extracted_markdown
from rag.parsing.readers.extracted_markdown import promote_bold_lines, strip_formatting
from rag.parsing.readers.xberg_adapter import extract
from rag.parsing.sandbox.limits import Limits
from rag.types import ParsedDocument

from . import open_document_slides

_WORD = re.compile(r"\w+")


def read_docx(content: bytes, limits: Limits) -> ParsedDocument:
    """Read a Word document, with pages if the file records them completely."""
    zip_files.check_archive(content, limits)
    extracted = extract(content, formats.DOCX, limits, pages=True)
    title = extracted_markdown.clean_title(extracted.title)
    # Page breaks are those of the last save. They are used only if the pages contain the whole text.
    if len(extracted.pages) > 1 and _WORD.findall(" ".join(extracted.pages)) == _WORD.findall(extracted.markdown):
        return extracted_markdown.join_pages(enumerate(extracted.pages, 1), title)
    return extracted_markdown.with_title(parse_markdown(strip_formatting(extracted.markdown).strip()), title)


def read_odt(content: bytes, limits: Limits) -> ParsedDocument:
    """Read an OpenDocument text, in a ZIP container or as a single XML file."""
    if not content.startswith(zip_files.MAGIC):
        content = open_document_slides.pack_flat(content, formats.ODT)
    zip_files.check_archive(content, limits)
    return extracted_markdown.read(content, formats.ODT, limits)


def read_rtf(content: bytes, limits: Limits) -> ParsedDocument:
    """Read a rich text file. Lines in bold become headings, because xberg ignores styles."""
    extracted = extract(content, formats.RTF, limits)
    text = strip_formatting(promote_bold_lines(extracted.markdown)).strip()
    return extracted_markdown.with_title(parse_markdown(text), extracted_markdown.clean_title(extracted.title))


def read_book(content: bytes, limits: Limits, media_type: str) -> ParsedDocument:
    """Read an EPUB book or a FictionBook."""
    if media_type == formats.EPUB:
        zip_files.check_archive(content, limits)
    return extracted_markdown.read(content, media_type, limits)


def read_doc(content: bytes, limits: Limits) -> ParsedDocument:
    """Read a document of Word 97 to 2003."""
    return extracted_markdown.read(content, formats.DOC, limits)
