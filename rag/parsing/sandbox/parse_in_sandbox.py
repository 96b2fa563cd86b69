"""Parses files in a separate process with limits on time, memory and output (docs/decisions/0014-parser-sandbox.md)."""

import atexit
import json
import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

import structlog
from django.conf import settings

from rag.errors import ParseFailed, RagError, UnsupportedFormat
from rag.parsing import formats
from rag.parsing.encodings.unicode_text import read_text
from rag.parsing.ocr.tesseract.languages import find_program, languages_of_document
from rag.types import Heading, LineBox, LongText, Page, ParsedDocument, Recognition
from ragsite.http.bodies.json_types import JsonObject

from .limits import (
    EXIT_OUT_OF_MEMORY,
    MAX_CONCURRENT_DOCUMENTS,
    MAX_PICTURE_BYTES,
    MAX_TEXT_BYTES,
    MAX_TITLE_CHARACTERS,
    PICTURE_TIMEOUT_SECONDS,
    RESPONSE_MARGIN_BYTES,
    STDERR_FILE,
    Limits,
    ParseRequest,
    PictureRequest,
)
from .parser_process import ParserGone, ParserProcess, ParserTimeout

logger = structlog.get_logger(__name__)

_TIMEOUT_MESSAGE = "Parsing the file takes more than {seconds:g} seconds. Send it in parts."
# How many parser processes are kept running between documents. Each uses about 80 MB.
_MAX_IDLE = 1

_slots = threading.BoundedSemaphore(MAX_CONCURRENT_DOCUMENTS)
_lock = threading.Lock()
_idle: list[ParserProcess] = []
# Parsers of the parent process after a fork. Kept referenced, so that finalizers do not wait for foreign processes.
_inherited: list[ParserProcess] = []
_ERRORS: dict[str, type[RagError]] = {error.code: error for error in (ParseFailed, UnsupportedFormat)}


# Formats that may contain pictures of text.
_WITH_PICTURES = formats.PICTURES | {formats.PDF, formats.EML, formats.MBOX, formats.MSG}


def parse_file(file: Path, *, media_type: str, ocr: bool = False, lang: str = "") -> ParsedDocument:
    """Parse a file within RAG_PARSE_TIMEOUT_SECONDS and RAG_PARSE_MAX_MEMORY_MB.

    Args:
        file: The file.
        media_type: Its MIME type.
        ocr: Whether text in pictures is recognised. With this, the file may take RAG_OCR_TIMEOUT_SECONDS.
        lang: The language of the document, if its client said so.

    Raises:
        ParseFailed: If the file cannot be parsed, or a limit is exceeded.
        UnsupportedFormat: If the format cannot be parsed.
    """
    with_ocr = ocr and media_type in _WITH_PICTURES
    languages = settings.RAG_OCR_TESSERACT_LANGUAGES if with_ocr else ""
    languages_of_file = languages_of_document(lang, languages)
    limits = Limits(
        timeout_seconds=settings.RAG_PARSE_TIMEOUT_SECONDS,
        memory_bytes=settings.RAG_PARSE_MAX_MEMORY_MB * 2**20,
        text_bytes=MAX_TEXT_BYTES,
        ocr_pages=settings.RAG_OCR_MAX_PAGES if with_ocr else 0,
        ocr_timeout_seconds=settings.RAG_OCR_TIMEOUT_SECONDS if with_ocr else 0,
        tesseract_program=find_program() if languages else "",
        tesseract_languages=languages_of_file or languages,
        has_tesseract_language=bool(languages_of_file),
    )
    folder = Path(tempfile.mkdtemp(prefix="ragsite-parse-", dir=settings.RAG_TEMP_FOLDER))
    try:
        with _slots:
            exit_code = _run_parser(file, media_type, limits, folder)
        return _read_result(folder, exit_code, media_type, limits)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def draw_cited_page_in_sandbox(
    file: Path, media_type: str, pages: Sequence[int], passage: str, line_boxes: Sequence[LineBox] = ()
) -> bytes:
    """Run `draw_cited_page` or `draw_cited_picture` in the sandbox, within RAG_PARSE_MAX_MEMORY_MB and a few seconds.

    Args:
        file: The PDF, or a file with pictures.
        media_type: Its MIME type.
        pages: The numbers of the pages where the passage may be, from 1.
        passage: The passage, as it was read from the file.
        line_boxes: Where the recognised lines of the passage are.

    Raises:
        ParseFailed: If the file has none of the pages, cannot be drawn, or a limit is exceeded.
    """
    limits = Limits(
        timeout_seconds=min(PICTURE_TIMEOUT_SECONDS, settings.RAG_PARSE_TIMEOUT_SECONDS),
        memory_bytes=settings.RAG_PARSE_MAX_MEMORY_MB * 2**20,
        text_bytes=MAX_PICTURE_BYTES,
    )
    folder = Path(tempfile.mkdtemp(prefix="ragsite-page-", dir=settings.RAG_TEMP_FOLDER))
    try:
        with _slots:
            picture: PictureRequest = {
                "pages": list(pages),
                "passage": passage,
                "line_boxes": [asdict(box) for box in line_boxes],
            }
            exit_code = _run_parser(file, media_type, limits, folder, picture=picture)
        _read_response(folder, exit_code, media_type, limits)
        return _read_limited(folder / "picture", limits)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def parse_text(text: str, *, media_type: str) -> ParsedDocument:
    """Parse a text. The limits and errors are those of `parse_file`."""
    folder = Path(tempfile.mkdtemp(prefix="ragsite-text-", dir=settings.RAG_TEMP_FOLDER))
    try:
        file = folder / "text"
        file.write_bytes(text.encode("utf-8", "replace"))
        return parse_file(file, media_type=media_type)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def stop_parsers() -> None:
    """Stop the idle parser processes."""
    with _lock:
        parsers = _idle[:]
        _idle.clear()
    for parser in parsers:
        parser.stop()


def _run_parser(
    file: Path, media_type: str, limits: Limits, folder: Path, *, picture: PictureRequest | None = None
) -> int:
    request: ParseRequest = {
        "file": str(file.absolute()),
        "media_type": media_type,
        "folder": str(folder),
        "limits": asdict(limits),
        "picture": picture,
    }
    # Retried once: an idle process may have been killed, which is not the file's fault.
    for parser in (_acquire_parser(), None):
        with suppress(ParserGone):
            return _send(parser or ParserProcess(), request, limits)
    raise ParseFailed("The parser process was ended. Send the file again.")


def _send(parser: ParserProcess, request: ParseRequest, limits: Limits) -> int:
    """Send a request to the parser and return its exit code. The parser is kept for the next one unless this fails."""
    try:
        exit_code = parser.send(request, timeout_seconds=limits.max_seconds)
    except ParserTimeout:
        parser.stop()
        raise ParseFailed(_TIMEOUT_MESSAGE.format(seconds=limits.max_seconds)) from None
    except BaseException:
        parser.stop()
        raise
    _release_parser(parser)
    return exit_code


def _acquire_parser() -> ParserProcess:
    with _lock:
        while _idle:
            parser = _idle.pop()
            if parser.is_alive():
                return parser
            parser.stop()
    return ParserProcess()


def _release_parser(parser: ParserProcess) -> None:
    with _lock:
        if len(_idle) < _MAX_IDLE:
            _idle.append(parser)
            return
    parser.stop()


def _read_response(folder: Path, exit_code: int, media_type: str, limits: Limits) -> JsonObject:
    """Read the response that the fork has written, or raise the error that it reports."""
    if exit_code != 0:
        raise _exit_error(folder, exit_code, media_type, limits)
    response: JsonObject = json.loads(_read_limited(folder / "response", limits))
    if "error" in response:
        if "exception" in response:
            logger.warning("parser_failed", media_type=media_type, exception=response["exception"])
        raise _ERRORS.get(response["error"], ParseFailed)(str(response["message"]))
    return response


def _read_result(folder: Path, exit_code: int, media_type: str, limits: Limits) -> ParsedDocument:
    response = _read_response(folder, exit_code, media_type, limits)
    text = read_text(folder / "text")
    return ParsedDocument(
        text=text if isinstance(text, str) else "",
        long_text=text if isinstance(text, LongText) else None,
        is_markdown=bool(response["is_markdown"]),
        headings=tuple(
            Heading(int(heading["start"]), int(heading["level"]), str(heading["title"]))
            for heading in response["headings"]
        ),
        pages=tuple(Page(int(page["start"]), int(page["number"])) for page in response["pages"]),
        title=str(response["title"])[:MAX_TITLE_CHARACTERS],
        media_type=str(response["media_type"]),
        unread_pages=tuple(int(number) for number in response["unread_pages"]),
        line_boxes=tuple(
            LineBox(
                *(int(box[name]) for name in ("start", "end", "page")),
                *(float(box[name]) for name in ("left", "top", "right", "bottom")),
            )
            for box in response["line_boxes"]
        ),
        recognitions=tuple(
            Recognition(str(recognition["engine"]), float(recognition["seconds"]))
            for recognition in response["recognitions"]
        ),
    )


def _read_limited(file: Path, limits: Limits) -> bytes:
    with file.open("rb") as stream:
        return stream.read(limits.text_bytes + RESPONSE_MARGIN_BYTES)


def _exit_error(folder: Path, exit_code: int, media_type: str, limits: Limits) -> ParseFailed:
    """Return an error with the reason why the fork ended without a response, as far as it is known."""
    with suppress(OSError):
        stderr = (folder / STDERR_FILE).read_bytes()[-4096:]
        if exit_code == EXIT_OUT_OF_MEMORY or b"memory allocation" in stderr or b"MemoryError" in stderr:
            limit_mb = limits.memory_bytes // 2**20
            return ParseFailed(f"Parsing the file needs more than {limit_mb:,} MB of memory. Send it in parts.")
    if exit_code in (-signal.SIGXCPU, -signal.SIGKILL):
        is_before_ocr = exit_code == -signal.SIGXCPU
        seconds = limits.timeout_seconds if is_before_ocr else limits.max_seconds
        return ParseFailed(_TIMEOUT_MESSAGE.format(seconds=seconds))
    logger.warning("parser_ended", media_type=media_type, code=exit_code)
    name = formats.display_name(media_type)
    return ParseFailed(f"The {name} is damaged or too deeply nested, and parsing it failed. Save it again.")


def _reset_after_fork() -> None:
    """Make a forked process start parsers of its own, and not wait for locks of its parent's threads."""
    global _lock, _slots, _idle, _inherited
    _lock, _slots = threading.Lock(), threading.BoundedSemaphore(MAX_CONCURRENT_DOCUMENTS)
    _inherited, _idle = _idle, []


atexit.register(stop_parsers)
os.register_at_fork(after_in_child=_reset_after_fork)
