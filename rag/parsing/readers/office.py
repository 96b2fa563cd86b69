"""PDF, Word, Excel and EPUB files."""

import re
import secrets

from rag.errors import ParseFailed
from rag.parsing import formats, markdown, zip_containers
from rag.parsing.sandbox.limits import Limits
from rag.types import Page, ParsedDocument

from .extraction import extract, strip_formatting

_WORD = re.compile(r"\w+")
# Default titles that programs write into files without a title.
_DEFAULT_TITLE = re.compile(
    r"untitled|\(anonymous\)|document\d*|microsoft (word|powerpoint|excel)\b.*|.*\.\w{3,4}", re.I
)


def read_pdf(content: bytes, limits: Limits) -> ParsedDocument:
    """Read a PDF with its pages. Text in images is not read (no OCR)."""
    # Random, so that a document cannot contain the marker itself.
    marker = f"PAGE{secrets.token_hex(12)}"
    extracted = extract(content, formats.PDF, limits, page_marker=f"\n\n{marker}:{{page_num}}:\n\n")
    parsed = _join_pages(re.split(rf"{marker}:(\d+):", extracted.markdown), _clean_title(extracted.title))
    if not parsed.text.strip():
        if b"%%EOF" not in content[-2048:]:
            raise ParseFailed("The PDF is damaged or cut off. Open it, save it again and send that.")
        raise ParseFailed(
            "The PDF contains no text; perhaps its pages are images. Text in images is not read (no OCR): send a PDF "
            "with a text layer."
        )
    return parsed


def read_docx(content: bytes, limits: Limits) -> ParsedDocument:
    """Read a Word document, with pages if the file records them completely."""
    zip_containers.check_archive(content, limits)
    extracted = extract(content, formats.DOCX, limits, pages=True)
    title = _clean_title(extracted.title)
    # Page breaks are those of the last save. They are used only if the pages contain the whole text.
    if len(extracted.pages) > 1 and _WORD.findall(" ".join(extracted.pages)) == _WORD.findall(extracted.markdown):
        numbered_pages = [part for number, page in enumerate(extracted.pages, 1) for part in (str(number), page)]
        return _join_pages(["", *numbered_pages], title)
    return _with_title(markdown.parse_markdown(strip_formatting(extracted.markdown).strip()), title)


def read_xlsx(content: bytes, limits: Limits) -> ParsedDocument:
    """Read an Excel workbook: a heading and a table for each sheet."""
    zip_containers.check_archive(content, limits)
    extracted = extract(content, formats.XLSX, limits)
    return _with_title(
        markdown.parse_markdown(extracted.markdown.replace("\r", "").strip()), _clean_title(extracted.title)
    )


def read_epub(content: bytes, limits: Limits) -> ParsedDocument:
    """Read an EPUB book."""
    zip_containers.check_archive(content, limits)
    extracted = extract(content, formats.EPUB, limits)
    return _with_title(
        markdown.parse_markdown(strip_formatting(extracted.markdown).strip()), _clean_title(extracted.title)
    )


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
