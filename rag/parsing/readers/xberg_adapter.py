"""Adapter to xberg, the library that reads office formats: calls, errors and clean-up of its Markdown."""

import asyncio
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import xberg

from rag.errors import ParseFailed
from rag.parsing import formats
from rag.parsing.sandbox.limits import Limits

_HTML = xberg.ConversionOptions(
    extract_metadata=False,
    skip_images=True,
    compact_tables=True,
    escape_asterisks=True,
    preprocessing=xberg.PreprocessingOptions(enabled=False),
)
# Font sizes, not only bold type, show the levels of headings.
_PDF = xberg.PdfConfig(
    extract_metadata=True, hierarchy=xberg.HierarchyConfig(enabled=True, k_clusters=6, include_bbox=False)
)


@dataclass(frozen=True, slots=True)
class Extracted:
    """The text that xberg extracted from a file.

    Attributes:
        markdown: The text, with a marker before each page if one was requested.
        title: The title that the file declares, or empty.
        pages: The text of each page, if pages were requested and the format has them.
    """

    markdown: str
    title: str
    pages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Ocr:
    """The name of a backend that is registered with xberg, and the numbers of the pages that it shall recognise."""

    backend: str
    pages: list[int]


def extract(
    content: bytes,
    media_type: str,
    limits: Limits,
    *,
    page_marker: str = "",
    pages: bool = False,
    ocr: Ocr | None = None,
) -> Extracted:
    """Extract a file's text.

    Args:
        content: The file.
        media_type: The MIME type of the file.
        limits: The limits of time and size.
        page_marker: The marker to insert before each page, which must contain {page_num}; empty for no marker.
        pages: Whether to return the text of each page as well.
        ocr: The text recognition to use for some pages; None for no recognition.

    Raises:
        ParseFailed: If the file is damaged, protected by a password or exceeds the limits.
    """
    source = xberg.ExtractInput(kind="bytes", bytes=content, mime_type=media_type)
    try:
        result = asyncio.run(xberg.extract(source, _config(limits, page_marker, pages, ocr)))
    except (xberg.XbergError, RuntimeError) as error:
        raise _translate_error(str(error), media_type) from error
    if not result.results:
        raise _translate_error(" ".join(str(error) for error in result.errors), media_type)
    extracted = result.results[0]
    title = " ".join((extracted.metadata.title or "").split()) if extracted.metadata else ""
    return Extracted(extracted.content, title, tuple(page.content for page in extracted.pages or ()))


def _config(limits: Limits, page_marker: str, pages: bool, ocr: Ocr | None) -> xberg.ExtractionConfig:
    """Return the settings of xberg: Markdown without its own OCR and cache, within the limits."""
    return xberg.ExtractionConfig(
        use_cache=False,  # the cache would store documents of all tenants in one folder
        disable_ocr=ocr is None,
        ocr=xberg.OcrConfig(enabled=True, backend=ocr.backend, language=["en"], auto_rotate=False) if ocr else None,
        force_ocr_pages=ocr.pages if ocr else None,
        ocr_near_empty_fallback=False,
        ocr_scanned_page_quality_gate=False,
        ocr_embedded_images=False,
        enable_quality_processing=False,
        extraction_timeout_secs=max(1, int(limits.max_seconds)),
        mime_detection_policy="prefer_content",
        pdf_options=_PDF,
        output_format="markdown",
        html_options=_HTML,
        pages=xberg.PageConfig(extract_pages=pages, insert_page_markers=bool(page_marker), marker_format=page_marker)
        if page_marker or pages
        else None,
        content_filter=xberg.ContentFilterConfig(include_footnotes=True, strip_repeating_text=False),
        max_archive_depth=0,
        concurrency=xberg.ConcurrencyConfig(max_threads=1),
        security_limits=xberg.SecurityLimits(
            max_archive_size=limits.unpacked_bytes,
            max_content_size=limits.text_bytes,
            max_table_cells=10**8,
            max_iterations=10**9,
        ),
    )


def _translate_error(error_message: str, media_type: str) -> ParseFailed:
    name, message = formats.display_name(media_type), error_message.lower()
    if "password" in message or "encrypt" in message:
        return ParseFailed(f"The {name} is protected by a password. Remove the protection and send it again.")
    if any(word in message for word in ("bomb", "limit", "exceed", "too large", "too deep", "depth")):
        return ParseFailed(f"The {name} is too large or too deeply nested. Send it in parts.")
    if "timeout" in message or "timed out" in message:
        return ParseFailed(f"Reading the {name} takes too long. Send it in parts.")
    return ParseFailed(f"The {name} is damaged or cut off. Open it, save it again and send that.")


_BOLD_LINE = re.compile(r"(?<=\n\n)\*\*([^*\n]{2,120}?[^*\n.,;:!?])\*\*(?=[ \t]*\n\n)")
_FENCE_LINE = re.compile(r"^(`{3,}|~{3,})(.*)$", re.M)
# References to pictures, which are not extracted.
_PICTURE = re.compile(r"!\[[^\[\]\n]*\]\([^()\n]*\)")
_CODE_SPAN = re.compile(r"(?<![\\`])(`+)(?!`)[^\n]*?(?<!`)\1(?!`)")
_STRONG = re.compile(r"(?<!\\)(\*\*\*|\*\*)(?=\S)((?:\\.|[^*\\]|(?<!\*)\*(?!\*)){1,5000}?)(?<=\S)(?<!\\)\1")
_EMPHASIS = re.compile(r"(?<![\\*])\*(?=[^\s*])((?:\\.|[^*\\\n]){1,5000}?)(?<=\S)(?<!\\)\*(?!\*)")
_LONE_MARKS = re.compile(r"^[ \t]*(?:[-+*][ \t]+)?\*\*[ \t]*$", re.M)
# `#` and `>` at the start of a line and `|` in a table stay escaped, because they would become syntax.
_ESCAPE = re.compile(r"(?m)(?<!^)\\([!-{}~])|^\\([!\"$-=?-{}~])")
_LIST_NUMBER = re.compile(r"^([ \t]*)[-+*][ \t]+(?=(?:\d{1,9}|[A-Za-z])\\?[.)][ \t])", re.M)
_EMPTY_BULLET = re.compile(r"^([ \t]*[-+*])[ \t]*\n\s*\n(?=\S)", re.M)


def promote_bold_lines(markdown: str) -> str:
    """Turn paragraphs that are one bold line into headings: some programs format headings in no other way."""
    padded = f"\n\n{markdown}\n\n"
    first = re.search(r"^#+ ", padded, re.M)

    def heading(match: re.Match[str]) -> str:
        if not re.search(r"[^\W\d_]", match[1]):  # numbers
            return match[0]
        is_title = not padded[: match.start()].strip() and not (first and first[0] == "# ")
        return f"{'#' if is_title else '##'} {match[1]}"

    return _BOLD_LINE.sub(heading, padded)


def strip_formatting(markdown: str) -> str:
    """Remove Markdown that only serves rendering: emphasis, escapes, bullets before numbers."""
    markdown = markdown.replace("\r\n", "\n").replace("\r", "\n")
    parts, end = [], 0
    for first, last in _find_code_blocks(markdown):
        parts += [_strip_outside_code(markdown[end:first]), markdown[first:last]]
        end = last
    return "".join([*parts, _strip_outside_code(markdown[end:])])


def remove_pictures(markdown: str) -> str:
    """Remove references to pictures."""
    return _PICTURE.sub("", markdown)


def _find_code_blocks(markdown: str) -> Iterator[tuple[int, int]]:
    """Yield where each fenced block begins and ends. A fence that is never closed is text."""
    lines = list(_FENCE_LINE.finditer(markdown))
    closing_lines = defaultdict[str, list[int]](list)  # fence → the lines that consist of it, ascending
    for index, line in enumerate(lines):
        if not line[2].strip():
            closing_lines[line[1]].append(index)
    index = 0
    while index < len(lines):
        candidates = closing_lines[lines[index][1]]
        position = bisect_right(candidates, index)
        if position < len(candidates):
            yield lines[index].start(), lines[candidates[position]].end()
            index = candidates[position]
        index += 1


def _strip_outside_code(markdown: str) -> str:
    parts, end = [], 0
    for code in _CODE_SPAN.finditer(markdown):
        parts += [markdown[end : code.start()], code.group()]
        end = code.end()
    parts.append(markdown[end:])
    parts[::2] = [_strip_inline(part) for part in parts[::2]]
    return "".join(parts)


def _strip_inline(markdown: str) -> str:
    for pattern in (_STRONG, _STRONG, _EMPHASIS):
        markdown = pattern.sub(lambda match: match.group(match.lastindex or 0), markdown)
    markdown = _LONE_MARKS.sub("", markdown)
    markdown = _EMPTY_BULLET.sub(r"\1 ", markdown)
    markdown = _LIST_NUMBER.sub(r"\1", markdown)
    return _ESCAPE.sub(lambda match: match.group(1) or match.group(2), markdown)
