"""Which parser reads what. Text that is kept as it was sent is read here; everything else in the sandbox."""

from pathlib import Path

from rag.errors import ParseFailed
from rag.types import ParsedDocument

from . import detection, formats, markdown, text
from .sandbox import process

# What is looked at of a file to tell what it is.
HEAD_BYTES = 16_384


def parse_text(content: str, *, content_type: str, path: str) -> ParsedDocument:
    """The text as it is searched and cited, with its headings where the format has them.

    Plain text, Markdown and source code stay as they are, character for character. Raises ParseFailed.
    """
    media_type = detection.detect_text_type(content, content_type=content_type, name=path)
    if media_type in formats.CONVERTED and content.strip():
        return process.parse_text(content, media_type=media_type)
    return _kept(content, media_type)


def parse_file(file: Path, *, content_type: str, name: str) -> ParsedDocument:
    """A file of any format. Takes no longer and no more than RAG_PARSE_TIMEOUT_SECONDS, RAG_PARSE_MAX_MEMORY_MB allow.

    Raises ParseFailed, UnsupportedFormat, with a sentence that says what to do.
    """
    with file.open("rb") as opened:
        head = opened.read(HEAD_BYTES)
    if not head:
        raise ParseFailed("The file is empty.")
    media_type = detect_type(head, content_type=content_type, name=name)
    if media_type in formats.BINARY | formats.CONTAINERS | formats.CONVERTED:
        return process.parse_file(file, media_type=media_type)
    if file.stat().st_size > process.MAX_TEXT_BYTES:
        raise ParseFailed(f"The file holds more than {process.MAX_TEXT_BYTES:,} bytes of text. Send it in parts.")
    decoded = text.try_decode_unicode(file.read_bytes())
    if decoded is None:  # an older encoding, which is guessed
        return process.parse_file(file, media_type=media_type)
    if not decoded.strip():
        raise ParseFailed("The file holds no text.")
    return _kept(decoded, media_type)


def detect_type(head: bytes, *, content_type: str, name: str) -> str:
    """The MIME type of a file, from its first bytes (up to HEAD_BYTES). Cheap: nothing is parsed.

    A ZIP or OLE container may turn out to hold something else when it is read. Raises UnsupportedFormat.
    """
    return detection.detect_type(head[:HEAD_BYTES], content_type=content_type, name=name)


def default_content_type(content_type: str, path: str) -> str:
    """The content type as given; without one, the MIME type of what it is read as."""
    markdown_name = formats.type_from_name(path) == formats.MARKDOWN
    return content_type or (formats.MARKDOWN if markdown_name else formats.PLAIN)


def _kept(content: str, media_type: str) -> ParsedDocument:
    parsed = markdown.parse_markdown(content) if media_type == formats.MARKDOWN else text.parse_plain(content)
    return ParsedDocument(parsed.text, parsed.is_markdown, parsed.headings, media_type=media_type)
