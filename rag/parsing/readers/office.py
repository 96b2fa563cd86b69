"""PDF, Word, Excel, OpenDocument, RTF, EPUB and FictionBook files."""

import re
import secrets
from dataclasses import replace

from rag.errors import ParseFailed
from rag.parsing import formats, markdown, zip_files
from rag.parsing.ocr import scans
from rag.parsing.ocr.user_messages import OCR_IS_OFF
from rag.parsing.sandbox.limits import Limits
from rag.types import Page, ParsedDocument

from . import open_document_slides
from .xberg_adapter import extract, promote_bold_lines, strip_formatting

_SHEETS = {formats.XLSX, formats.XLSB, formats.XLS, formats.ODS}
# References to pictures, which are not extracted.
_IMAGE = re.compile(r"!\[[^\]\n]*\]\([^)\n]*\)")
_WORD = re.compile(r"\w+")
# Default titles that programs write into files without a title.
_DEFAULT_TITLE = re.compile(
    r"untitled|\(anonymous\)|document\d*|microsoft (word|powerpoint|excel)\b.*|powerpoint presentation|.*\.\w{3,4}|"
    r".*\\'[0-9a-f]{2}.*",
    re.I,
)


def read_pdf(content: bytes, limits: Limits) -> ParsedDocument:
    """Read a PDF with its pages. Pages without text are read by text recognition, if it is on."""
    # Random, so that a document cannot contain the marker itself.
    marker = f"PAGE{secrets.token_hex(12)}"
    extracted = extract(content, formats.PDF, limits, page_marker=f"\n\n{marker}:{{page_num}}:\n\n")
    text = promote_bold_lines(extracted.markdown)
    pages = scans.recognize_pages(re.split(rf"{marker}:(\d+):", text), content, limits)
    parsed = _join_pages(pages, _clean_title(extracted.title))
    if not parsed.text.strip():
        if b"%%EOF" not in content[-2048:]:
            raise ParseFailed("The PDF is damaged or cut off. Open it, save it again and send that.")
        if limits.ocr_pages:
            raise ParseFailed("No text was recognised on the pages of the PDF. Send a sharper or larger scan.")
        raise ParseFailed(OCR_IS_OFF.format("The pages of the PDF are pictures (a scan)"))
    return replace(parsed, title=parsed.title or _first_heading(parsed))


def read_docx(content: bytes, limits: Limits) -> ParsedDocument:
    """Read a Word document, with pages if the file records them completely."""
    zip_files.check_archive(content, limits)
    extracted = extract(content, formats.DOCX, limits, pages=True)
    title = _clean_title(extracted.title)
    # Page breaks are those of the last save. They are used only if the pages contain the whole text.
    if len(extracted.pages) > 1 and _WORD.findall(" ".join(extracted.pages)) == _WORD.findall(extracted.markdown):
        numbered_pages = [part for number, page in enumerate(extracted.pages, 1) for part in (str(number), page)]
        return _join_pages(["", *numbered_pages], title)
    return _with_title(markdown.parse_markdown(strip_formatting(extracted.markdown).strip()), title)


def read_xlsx(content: bytes, limits: Limits) -> ParsedDocument:
    """Read an Excel workbook: a heading and a table for each sheet."""
    zip_files.check_archive(content, limits)
    return _read_markdown(content, formats.XLSX, limits)


def read_xlsb(content: bytes, limits: Limits) -> ParsedDocument:
    """Read a binary Excel workbook."""
    zip_files.check_archive(content, limits)
    return _read_markdown(content, formats.XLSB, limits)


def read_open_document(content: bytes, limits: Limits, media_type: str) -> ParsedDocument:
    """Read an OpenDocument text or spreadsheet, in a ZIP container or as a single XML file."""
    if not content.startswith(zip_files.MAGIC):
        content = open_document_slides.pack_flat(content, media_type)
    zip_files.check_archive(content, limits)
    return _read_markdown(content, media_type, limits)


def read_rtf(content: bytes, limits: Limits) -> ParsedDocument:
    """Read a rich text file. Lines in bold become headings, because xberg ignores styles."""
    extracted = extract(content, formats.RTF, limits)
    text = strip_formatting(promote_bold_lines(extracted.markdown)).strip()
    return _with_title(markdown.parse_markdown(text), _clean_title(extracted.title))


def read_ppt(content: bytes, limits: Limits) -> ParsedDocument:
    """Read a presentation of PowerPoint 97 to 2003: a page per slide."""
    extracted = extract(content, formats.PPT, limits)
    slides = re.split(r"^-----$", extracted.markdown, flags=re.M)
    notes = re.compile(r"^\[\^\d+\]:\s*", re.M)
    numbered = [
        part for number, slide in enumerate(slides[1:], 1) for part in (str(number), notes.sub("Notes: ", slide))
    ]
    return _join_pages([slides[0], *numbered], _clean_title(extracted.title))


def read_book(content: bytes, limits: Limits, media_type: str) -> ParsedDocument:
    """Read an EPUB book or a FictionBook."""
    if media_type == formats.EPUB:
        zip_files.check_archive(content, limits)
    return _read_markdown(content, media_type, limits)


def read_old_office(content: bytes, limits: Limits, media_type: str) -> ParsedDocument:
    """Read a Word or Excel file of Office 97 to 2003."""
    return _read_markdown(content, media_type, limits)


def _read_markdown(content: bytes, media_type: str, limits: Limits) -> ParsedDocument:
    extracted = extract(content, media_type, limits)
    text = _IMAGE.sub("", extracted.markdown).replace("\r", "")
    if media_type not in _SHEETS:  # the cells of a sheet have no formatting, but may contain its characters
        text = strip_formatting(text)
    return _with_title(markdown.parse_markdown(text.strip()), _clean_title(extracted.title))


def _first_heading(parsed: ParsedDocument) -> str:
    """Return the highest heading of the first page, or of the beginning."""
    end = parsed.pages[1].start if len(parsed.pages) > 1 else len(parsed.text)
    headings = [heading for heading in parsed.headings if heading.start < end]
    return min(headings, key=lambda heading: (heading.level, heading.start)).title if headings else ""


def _join_pages(parts: list[str], title: str) -> ParsedDocument:
    """Join pages. `parts` is the text before the first page, then number and text of each page."""
    text, pages = strip_formatting(parts[0]).strip(), []
    for number, page in zip(parts[1::2], parts[2::2], strict=True):
        if words := strip_formatting(page).strip():
            text += "\n\n" if text else ""
            pages.append(Page(len(text), int(number)))
            text += words
    return _with_title(markdown.parse_markdown(text), title, tuple(pages))


def _with_title(parsed: ParsedDocument, title: str, pages: tuple[Page, ...] = ()) -> ParsedDocument:
    return ParsedDocument(parsed.text, parsed.is_markdown, parsed.headings, pages, title)


def _clean_title(title: str) -> str:
    return "" if _DEFAULT_TITLE.fullmatch(title) else title
