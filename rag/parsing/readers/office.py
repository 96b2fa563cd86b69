"""PDF, Word, Excel and EPUB files."""

import re
import secrets

from rag.errors import ParseFailed
from rag.parsing import archives, formats, markdown
from rag.parsing.sandbox.limits import Limits
from rag.types import Page, ParsedDocument

from .extraction import extract, strip_formatting

_WORD = re.compile(r"\w+")
# What programs call a document that has no title.
_NO_TITLE = re.compile(r"untitled|\(anonymous\)|document\d*|microsoft (word|powerpoint|excel)\b.*|.*\.\w{3,4}", re.I)


def read_pdf(content: bytes, limits: Limits) -> ParsedDocument:
    # The mark cannot be guessed, so that no document can make pages up.
    mark = f"PAGE{secrets.token_hex(12)}"
    found = extract(content, formats.PDF, limits, mark=f"\n\n{mark}:{{page_num}}:\n\n")
    parsed = _paged(re.split(rf"{mark}:(\d+):", found.markdown), _title(found.title))
    if not parsed.text.strip():
        if b"%%EOF" not in content[-2048:]:
            raise ParseFailed("The PDF is damaged or cut off. Open it, save it again and send that.")
        raise ParseFailed(
            "The PDF holds no text, only pictures of pages perhaps. Text in pictures is not read (no OCR): send a PDF "
            "with a text layer."
        )
    return parsed


def read_docx(content: bytes, limits: Limits) -> ParsedDocument:
    archives.check_archive(content, limits)
    found = extract(content, formats.DOCX, limits, pages=True)
    title = _title(found.title)
    # Its pages are those of when it was last saved, and are used if nothing is missing in them.
    if len(found.pages) > 1 and _WORD.findall(" ".join(found.pages)) == _WORD.findall(found.markdown):
        numbered = [piece for number, page in enumerate(found.pages, 1) for piece in (str(number), page)]
        return _paged(["", *numbered], title)
    return _with_title(markdown.parse_markdown(strip_formatting(found.markdown).strip()), title)


def read_xlsx(content: bytes, limits: Limits) -> ParsedDocument:
    archives.check_archive(content, limits)
    found = extract(content, formats.XLSX, limits)
    return _with_title(markdown.parse_markdown(found.markdown.replace("\r", "").strip()), _title(found.title))


def read_epub(content: bytes, limits: Limits) -> ParsedDocument:
    archives.check_archive(content, limits)
    found = extract(content, formats.EPUB, limits)
    return _with_title(markdown.parse_markdown(strip_formatting(found.markdown).strip()), _title(found.title))


def _paged(pieces: list[str], title: str) -> ParsedDocument:
    """`pieces`: what stands before the first page, then a number and a text for every page."""
    text, pages = strip_formatting(pieces[0]).strip(), []
    for number, page in zip(pieces[1::2], pieces[2::2], strict=True):
        if words := strip_formatting(page).strip():
            text += "\n\n" if text else ""
            pages.append(Page(len(text), int(number)))
            text += words
    return _with_title(markdown.parse_markdown(text), title, tuple(pages))


def _with_title(parsed: ParsedDocument, title: str, pages: tuple[Page, ...] = ()) -> ParsedDocument:
    return ParsedDocument(parsed.text, parsed.is_markdown, parsed.headings, pages, title)


def _title(title: str) -> str:
    return "" if _NO_TITLE.fullmatch(title) else title
