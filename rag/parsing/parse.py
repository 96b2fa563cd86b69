"""Chooses the parser for a document.

Text that is kept unchanged is parsed here, everything else and long Markdown in the sandbox.
"""

from pathlib import Path

from rag.errors import ParseFailed, UnsupportedFormat
from rag.parsing.ocr.ocr_off_message import OCR_IS_OFF
from rag.types import LongText, ParsedDocument, read_lines_in_parts

from . import detection, formats, plain_text
from .encodings.unicode_text import decode_unicode_file
from .ocr import models
from .parse_markdown import parse_markdown
from .sandbox import parse_in_sandbox
from .sandbox.limits import MAX_TEXT_BYTES

# The first bytes of a file, from which its format is detected.
HEAD_BYTES = 16_384
# Longer Markdown is parsed in the sandbox: lists and short paragraphs need 500 times their size in memory.
_MAX_UNCONFINED_MARKDOWN_CHARACTERS = 256 * 1024


def parse_text(content: str, *, content_type: str, path: str) -> ParsedDocument:
    """Parse a text that a client sent. Plain text, Markdown and source code stay unchanged.

    Args:
        content: The text.
        content_type: The declared type of the text; empty if none was declared.
        path: The path or URL of the text.

    Raises:
        ParseFailed: If the text cannot be parsed.
    """
    media_type = detection.detect_text_type(content, content_type=content_type, name=path)
    is_converted = media_type in formats.CONVERTED or _is_long_markdown(media_type, len(content))
    if is_converted and content.strip():
        return parse_in_sandbox.parse_text(content, media_type=media_type)
    return _keep_unchanged(content, media_type)


def parse_file(file: Path, *, content_type: str, name: str, ocr: bool = False, lang: str = "") -> ParsedDocument:
    """Parse a file, within the limits of RAG_PARSE_TIMEOUT_SECONDS and RAG_PARSE_MAX_MEMORY_MB.

    Args:
        file: The file's path on this machine.
        content_type: The declared type of the file; empty if none was declared.
        name: The name or URL of the file at the client.
        ocr: Whether text in pictures and on scanned pages is recognised.
        lang: The language of the document, if its client said so: some scripts need another text recognition.

    Raises:
        ParseFailed: If the file cannot be parsed; the message says what to do.
        UnsupportedFormat: If the format cannot be parsed; the message says what to do.
    """
    with file.open("rb") as stream:
        head = stream.read(HEAD_BYTES)
    if not head:
        raise ParseFailed("The file is empty.")
    media_type = detect_type(head, content_type=content_type, name=name, ocr=ocr)
    size = file.stat().st_size
    is_converted = media_type in formats.BINARY | formats.CONTAINERS | formats.CONVERTED
    if is_converted or _is_long_markdown(media_type, size):
        return parse_in_sandbox.parse_file(file, media_type=media_type, ocr=ocr, lang=lang)
    if size > MAX_TEXT_BYTES:
        raise ParseFailed(f"The file contains more than {MAX_TEXT_BYTES:,} bytes of text. Send it in parts.")
    decoded = decode_unicode_file(file)
    if decoded is None:  # a legacy encoding; guessing it runs in the sandbox
        return parse_in_sandbox.parse_file(file, media_type=media_type)
    if isinstance(decoded, LongText):
        parsed = plain_text.parse_long(decoded, media_type)
    else:
        parsed = _keep_unchanged(decoded, media_type)
    # A text may consist of commands for a terminal, which are left out.
    if all(part.isspace() for part in read_lines_in_parts(parsed.content)):
        raise ParseFailed("The file contains no text.")
    return parsed


def detect_type(head: bytes, *, content_type: str, name: str, ocr: bool) -> str:
    """Return the MIME type of a file from its first bytes, without parsing it.

    The content of a ZIP or OLE container is only detected when it is parsed.

    Args:
        head: The first bytes of the file, of which HEAD_BYTES are used.
        content_type: The declared type of the file; empty if none was declared.
        name: The name or URL of the file at the client.
        ocr: Whether text in pictures is recognised.

    Raises:
        UnsupportedFormat: If the format cannot be parsed; the message says what to do.
    """
    media_type = detection.detect_type(head[:HEAD_BYTES], content_type=content_type, name=name)
    if media_type in formats.PICTURES and not (ocr and models.is_installed()):
        raise UnsupportedFormat(OCR_IS_OFF.format("The file is a picture"))
    return media_type


def default_content_type(path: str) -> str:
    """Return the content type of a text without a declared one: Markdown if its path says so, else plain text."""
    return formats.MARKDOWN if formats.type_from_name(path) == formats.MARKDOWN else formats.PLAIN


def _is_long_markdown(media_type: str, size: int) -> bool:
    return media_type == formats.MARKDOWN and size > _MAX_UNCONFINED_MARKDOWN_CHARACTERS


def _keep_unchanged(content: str, media_type: str) -> ParsedDocument:
    if media_type == formats.MARKDOWN:
        parsed = parse_markdown(content)
    else:
        is_plain = media_type in formats.PLAIN_TEXTS
        parsed = plain_text.parse_plain(content) if is_plain else plain_text.parse_markup(content, media_type)
    return ParsedDocument(
        parsed.text,
        is_markdown=parsed.is_markdown,
        headings=parsed.headings,
        title=parsed.title,
        media_type=media_type,
    )
