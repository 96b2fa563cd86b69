"""Adapter to xberg, the library that reads office formats and PDF: its calls and its errors."""

import asyncio
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
        markdown: The text, with a marker before each page if one was requested. Plain text if that was requested.
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
    plain: bool = False,
) -> Extracted:
    """Extract a file's text.

    Args:
        content: The file.
        media_type: The MIME type of the file.
        limits: The limits of time and size.
        page_marker: The marker to insert before each page, which must contain {page_num}; empty for no marker.
        pages: Whether to return the text of each page as well.
        ocr: The text recognition to use for some pages; None for no recognition.
        plain: Whether to return plain text instead of Markdown.

    Raises:
        ParseFailed: If the file is damaged, protected by a password or exceeds the limits.
    """
    source = xberg.ExtractInput(kind="bytes", bytes=content, mime_type=media_type)
    try:
        result = asyncio.run(xberg.extract(source, _config(limits, page_marker, pages, ocr, plain)))
    except (xberg.XbergError, RuntimeError) as error:
        raise _translate_error(str(error), media_type) from error
    if not result.results:
        raise _translate_error(" ".join(str(error) for error in result.errors), media_type)
    extracted = result.results[0]
    title = " ".join((extracted.metadata.title or "").split()) if extracted.metadata else ""
    return Extracted(extracted.content, title, tuple(page.content for page in extracted.pages or ()))


def _config(limits: Limits, page_marker: str, pages: bool, ocr: Ocr | None, plain: bool) -> xberg.ExtractionConfig:
    """Return the settings of xberg: without its own OCR and cache, within the limits."""
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
        output_format="plain" if plain else "markdown",
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
