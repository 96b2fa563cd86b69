"""xberg, which reads the office formats: how it is called, and what its complaints mean."""

import asyncio
import re
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


@dataclass(frozen=True, slots=True)
class Extracted:
    """markdown: with `mark` before each page, if pages were asked for. pages: of formats that have them."""

    markdown: str
    title: str
    pages: tuple[str, ...]


def extract(content: bytes, media_type: str, limits: Limits, *, mark: str = "", pages: bool = False) -> Extracted:
    """`mark`: what to put before each page, with {page_num} in it. Raises ParseFailed."""
    source = xberg.ExtractInput(kind="bytes", bytes=content, mime_type=media_type)
    try:
        result = asyncio.run(xberg.extract(source, _config(limits, mark, pages)))
    except (xberg.XbergError, RuntimeError) as error:
        raise _understood(str(error), media_type) from error
    if not result.results:
        raise _understood(" ".join(str(error) for error in result.errors), media_type)
    found = result.results[0]
    title = " ".join((found.metadata.title or "").split()) if found.metadata else ""
    return Extracted(found.content, title, tuple(page.content for page in found.pages or ()))


def _config(limits: Limits, mark: str, pages: bool) -> xberg.ExtractionConfig:
    return xberg.ExtractionConfig(
        use_cache=False,  # it would keep documents of all tenants in one folder
        disable_ocr=True,
        enable_quality_processing=False,
        extraction_timeout_secs=max(1, int(limits.seconds)),
        mime_detection_policy="prefer_content",
        output_format="markdown",
        html_options=_HTML,
        pages=xberg.PageConfig(extract_pages=pages, insert_page_markers=bool(mark), marker_format=mark)
        if mark or pages
        else None,
        content_filter=xberg.ContentFilterConfig(include_footnotes=True, strip_repeating_text=False),
        max_archive_depth=0,
        concurrency=xberg.ConcurrencyConfig(max_threads=1),
        security_limits=xberg.SecurityLimits(
            max_archive_size=limits.unpacked,
            max_content_size=limits.text,
            max_table_cells=10**8,
            max_iterations=10**9,
        ),
    )


def _understood(complaint: str, media_type: str) -> ParseFailed:
    name, said = formats.display_name(media_type), complaint.lower()
    if "password" in said or "encrypt" in said:
        return ParseFailed(f"The {name} is protected by a password. Remove the protection and send it again.")
    if any(word in said for word in ("bomb", "limit", "exceed", "too large", "too deep", "depth")):
        return ParseFailed(f"The {name} is larger or more deeply nested than what is read. Send it in parts.")
    if "timeout" in said or "timed out" in said:
        return ParseFailed(f"Reading the {name} takes too long. Send it in parts.")
    return ParseFailed(f"The {name} is damaged or cut off. Open it, save it again and send that.")


_FENCE = re.compile(r"^(?P<fence>`{3,}|~{3,}).*?^(?P=fence)[ \t]*$", re.M | re.S)
_CODE_SPAN = re.compile(r"(?<![\\`])(`+)(?!`)[^\n]*?(?<!`)\1(?!`)")
_STRONG = re.compile(r"(?<!\\)(\*\*\*|\*\*)(?=\S)((?:\\.|[^*\\]|(?<!\*)\*(?!\*)){1,5000}?)(?<=\S)(?<!\\)\1")
_EMPHASIS = re.compile(r"(?<![\\*])\*(?=[^\s*])((?:\\.|[^*\\\n]){1,5000}?)(?<=\S)(?<!\\)\*(?!\*)")
_LONE_MARKS = re.compile(r"^[ \t]*(?:[-+*][ \t]+)?\*\*[ \t]*$", re.M)
# `#` and `>` at the beginning of a line, and `|` in a table, would come to mean something.
_ESCAPE = re.compile(r"(?m)(?<!^)\\([!-{}~])|^\\([!\"$-=?-{}~])")
_LIST_NUMBER = re.compile(r"^([ \t]*)[-+*][ \t]+(?=(?:\d{1,9}|[A-Za-z])\\?[.)][ \t])", re.M)
_EMPTY_BULLET = re.compile(r"^([ \t]*[-+*])[ \t]*\n\s*\n(?=\S)", re.M)


def strip_formatting(markdown: str) -> str:
    """Markdown without what only serves rendering: emphasis, escapes, bullets before numbers."""
    markdown = markdown.replace("\r\n", "\n").replace("\r", "\n")
    pieces, end = [], 0
    for fence in _FENCE.finditer(markdown):
        pieces += [_prose(markdown[end : fence.start()]), fence.group()]
        end = fence.end()
    return "".join([*pieces, _prose(markdown[end:])])


def _prose(markdown: str) -> str:
    pieces, end = [], 0
    for code in _CODE_SPAN.finditer(markdown):
        pieces += [markdown[end : code.start()], code.group()]
        end = code.end()
    pieces.append(markdown[end:])
    pieces[::2] = [_words(piece) for piece in pieces[::2]]
    return "".join(pieces)


def _words(markdown: str) -> str:
    for pattern in (_STRONG, _STRONG, _EMPHASIS):
        markdown = pattern.sub(lambda match: match.group(match.lastindex or 0), markdown)
    markdown = _LONE_MARKS.sub("", markdown)
    markdown = _EMPTY_BULLET.sub(r"\1 ", markdown)
    markdown = _LIST_NUMBER.sub(r"\1", markdown)
    return _ESCAPE.sub(lambda match: match.group(1) or match.group(2), markdown)
