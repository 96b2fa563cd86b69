"""PDF files."""

import re
import secrets
from dataclasses import replace
from functools import partial

from rag.errors import ParseFailed
from rag.parsing import formats
from rag.parsing.ocr.ocr_off_message import OCR_IS_OFF
from rag.parsing.ocr.read_pictures import add_recognized, recognize_pages
from rag.parsing.readers import extracted_markdown
from rag.parsing.readers.extracted_markdown import promote_bold_lines
from rag.parsing.readers.xberg_adapter import Extracted, extract
from rag.parsing.sandbox.limits import Limits
from rag.types import ParsedDocument

from .page_texts import can_open, improve, with_page_sizes

_DAMAGED = "The PDF is damaged or cut off. Open it, save it again and send that."
# The beginning of an object, or the numbers of the objects in a node of the page tree; and where that begins.
_OBJECT_OR_KIDS = re.compile(rb"(?<!\d)(\d{1,10})\s{1,9}\d{1,5}\s{1,9}obj\b|/Kids\s{0,9}\[([^\]]*)")
_REFERENCE = re.compile(rb"(?<!\d)(\d{1,10})\s{1,9}\d{1,5}\s{1,9}R")
_ROOT = re.compile(rb"/Pages\s{0,9}(\d{1,10})\s{1,9}\d{1,5}\s{1,9}R")
_LATER_PART = re.compile(r"(?:[2-9]|1\d)(?:\.\d{1,2}){0,3}[.)/]? \D")
# A file has several if it was changed and keeps its earlier versions.
_MAX_ROOTS = 10


def read(content: bytes, limits: Limits) -> ParsedDocument:
    """Read a PDF with its pages. Pages without text are read by text recognition, if it is on.

    Raises:
        ParseFailed: If the PDF is damaged or encrypted, or no text was found.
    """
    if _has_repeated_nodes(content):
        raise ParseFailed(_DAMAGED)
    is_cut_off = b"%%EOF" not in content[-2048:]
    if is_cut_off and not can_open(content):  # xberg may read some of it, with the wrong letters
        raise ParseFailed(_DAMAGED)
    # Random, so that a document cannot contain the marker itself.
    marker = f"PAGE{secrets.token_hex(12)}"
    extracted = _extract(content, limits, marker)
    text = promote_bold_lines(extracted.markdown)
    preamble, *parts = re.split(rf"{marker}:(\d+):", text)
    texts = {int(number): page for number, page in zip(parts[::2], parts[1::2], strict=True)}
    recognized = recognize_pages(improve(content, texts), content, limits)
    title = extracted_markdown.clean_title(extracted.title)
    parsed = extracted_markdown.join_pages(recognized.texts.items(), title, preamble=preamble, may_divide=True)
    if not parsed.text.strip():
        if is_cut_off:
            raise ParseFailed(_DAMAGED)
        if limits.ocr_pages:
            raise ParseFailed("No text was recognised on the pages of the PDF. Send a sharper or larger scan.")
        raise ParseFailed(OCR_IS_OFF.format("The pages of the PDF are pictures (a scan)"))
    heading = _first_heading(parsed)
    is_other = bool(heading) and extracted_markdown.is_of_another_document(parsed.title, parsed.text)
    return replace(
        add_recognized(parsed, recognized.pages),
        title=heading if is_other or not parsed.title else parsed.title,
        unread_pages=recognized.unread,
    )


def _has_repeated_nodes(content: bytes) -> bool:
    """Return whether the page tree contains a node more than once, such as itself.

    xberg would visit it again and again if it finds the objects without the file's table of them. Nodes that are packed
    into a stream are not seen: the time limit ends that.
    """
    nodes: dict[bytes, list[bytes]] = {}
    number = b""
    for part in _OBJECT_OR_KIDS.finditer(content):
        if part[1]:
            number = part[1]
        else:
            nodes[number] = _REFERENCE.findall(part[2])  # of several versions, the last one counts
    for root in list(dict.fromkeys(_ROOT.findall(content)))[-_MAX_ROOTS:]:
        seen, remaining = {root}, [root]
        while remaining:
            children = [child for child in nodes.get(remaining.pop(), ()) if child in nodes]
            if len(set(children)) < len(children) or not seen.isdisjoint(children):
                return True
            seen.update(children)
            remaining += children
    return False


def _extract(content: bytes, limits: Limits, marker: str) -> Extracted:
    """Return the text that xberg reads, with a marker before each page."""
    read_with_xberg = partial(extract, limits=limits, page_marker=f"\n\n{marker}:{{page_num}}:\n\n")
    try:
        return read_with_xberg(content, formats.PDF)
    except ParseFailed as error:
        repaired = with_page_sizes(content) if "damaged" in error.message else b""
        if not repaired:
            raise
        return read_with_xberg(repaired, formats.PDF)


def _first_heading(parsed: ParsedDocument) -> str:
    """Return the highest heading of the first page, or of the beginning. "6 Reports" belongs to a part."""
    end = parsed.pages[1].start if len(parsed.pages) > 1 else len(parsed.text)
    headings = [heading for heading in parsed.headings if heading.start < end and not _LATER_PART.match(heading.title)]
    return min(headings, key=lambda heading: (heading.level, heading.start)).title if headings else ""
