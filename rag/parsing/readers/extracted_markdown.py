"""Documents as the Markdown that xberg extracts: pages, titles and cells."""

import re

from rag.parsing import formats, markdown
from rag.parsing.sandbox.limits import Limits
from rag.types import Page, ParsedDocument

from .xberg_adapter import extract, remove_pictures, strip_formatting

_SHEETS = {formats.XLSX, formats.XLSB, formats.XLS, formats.ODS}
# Default titles that programs write into files without a title.
_DEFAULT_TITLE = re.compile(
    r"untitled|\(anonymous\)|document\d*|microsoft (word|powerpoint|excel)\b.*|powerpoint presentation|.*\.\w{3,4}|"
    r".*\\'[0-9a-f]{2}.*",
    re.I,
)


def read(content: bytes, media_type: str, limits: Limits) -> ParsedDocument:
    """Read a file of one of the formats that xberg turns into one Markdown text."""
    extracted = extract(content, media_type, limits)
    text = remove_pictures(extracted.markdown).replace("\r", "")
    if media_type not in _SHEETS:  # the cells of a sheet have no formatting, but may contain its characters
        text = strip_formatting(text)
    return with_title(markdown.parse_markdown(text.strip()), clean_title(extracted.title))


def join_pages(parts: list[str], title: str) -> ParsedDocument:
    """Join pages. `parts` is the text before the first page, then number and text of each page."""
    text, pages = strip_formatting(parts[0]).strip(), []
    for number, page in zip(parts[1::2], parts[2::2], strict=True):
        if words := strip_formatting(page).strip():
            text += "\n\n" if text else ""
            pages.append(Page(len(text), int(number)))
            text += words
    return with_title(markdown.parse_markdown(text), title, tuple(pages))


def with_title(parsed: ParsedDocument, title: str, pages: tuple[Page, ...] = ()) -> ParsedDocument:
    """Return the document with a title and the beginnings of its pages."""
    return ParsedDocument(parsed.text, parsed.is_markdown, parsed.headings, pages, title)


def clean_title(title: str) -> str:
    """Return the title, or an empty text if it is one that programs write by default."""
    return "" if _DEFAULT_TITLE.fullmatch(title) else title
