"""Renders pages of a PDF as pictures, with xberg, and has them recognised one by one."""

import re
import secrets
from collections.abc import Callable

import xberg

from rag.parsing import formats
from rag.parsing.readers.xberg_adapter import Ocr, extract
from rag.parsing.sandbox.limits import Limits

from .recognized_page import RecognizedPage

_NAME = "ragsite"
# xberg keeps the text layer of a page unless what is recognised is longer.
_TIMES = 20


class _Backend:
    """What xberg calls for each page (its interface OcrBackend). Only one document is read at a time."""

    def __init__(self, recognize: Callable[[bytes], RecognizedPage], max_pictures: int) -> None:
        self._recognize, self._max_pictures = recognize, max_pictures
        # xberg does not say which page it renders, and would change Markdown. So it gets a mark, which stands in its
        # result where the text belongs.
        self.mark = f"TEXT{secrets.token_hex(12)}"
        self.pages: list[RecognizedPage] = []
        self.error: Exception | None = None

    def process_image(self, picture: bytes, config: object) -> dict[str, object]:
        """Recognise the text of a page and return its mark."""
        content = ""
        if not self.error and len(self.pages) < self._max_pictures:
            try:
                content = f"{self.mark}x{len(self.pages)}x " * _TIMES
                self.pages.append(self._recognize(picture))
            except Exception as error:  # raised again in `read_pages`; xberg would hide it
                self.error = error
        return {"content": content, "metadata": {}, "tables": [], "mime_type": "text/plain"}

    def name(self) -> str:
        """Return the name that a configuration refers to."""
        return _NAME

    def version(self) -> str:
        """Return a version, which xberg asks for."""
        return "1"

    def backend_type(self) -> str:
        """Return the kind of this backend."""
        return "custom"

    def supports_language(self, language: str) -> bool:
        """Return whether a language is supported. The model is the same for all."""
        return True

    def supported_languages(self) -> list[str]:
        """Return the language that the configuration names."""
        return ["en"]

    def initialize(self) -> None:
        """Do nothing: the models are loaded with the first page."""

    def shutdown(self) -> None:
        """Do nothing."""


def read_pages(
    content: bytes, pages: list[int], recognize: Callable[[bytes], RecognizedPage], limits: Limits
) -> dict[int, RecognizedPage]:
    """Return what was recognised on pages of a PDF, by page number.

    Args:
        content: The PDF.
        pages: The numbers of the pages, from 1.
        recognize: Returns what a page has, from its picture, a PNG file. What it raises is raised.
        limits: The limits of time and memory.
    """
    backend = _Backend(recognize, 2 * len(pages))  # xberg renders an empty page twice
    marker = f"PAGE{secrets.token_hex(12)}"
    xberg.register_ocr_backend(backend)  # type: ignore[arg-type]  # it takes strings and dictionaries too
    try:
        extracted = extract(
            content, formats.PDF, limits, page_marker=f"\n\n{marker}:{{page_num}}:\n\n", ocr=Ocr(_NAME, pages)
        )
    finally:
        xberg.unregister_ocr_backend(_NAME)
    if backend.error:
        raise backend.error
    parts = re.split(rf"{marker}:(\d+):", extracted.markdown)
    recognized = {}
    for number, page in zip(parts[1::2], parts[2::2], strict=True):
        match = re.search(rf"{backend.mark}x(\d+)x", page)
        if match and int(number) in pages:
            recognized[int(number)] = backend.pages[int(match[1])]
    return recognized


def count_pages(content: bytes) -> int:
    """Return the number of pages of a PDF; 0 if it is unknown."""
    try:
        return xberg.pdf_page_count(content)
    except (xberg.XbergError, RuntimeError):
        return 0
