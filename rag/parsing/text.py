"""Plain text, and decoding of Unicode."""

import codecs

from rag.errors import ParseFailed
from rag.types import ParsedDocument

_BOMS = [
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
]


def parse_plain(content: str) -> ParsedDocument:
    """Return the text unchanged, without a media type."""
    return ParsedDocument(text=content)


def decode_unicode(data: bytes) -> str | None:
    """Decode UTF-8, or UTF-16 or UTF-32 with a byte-order mark.

    Returns:
        The text; None if the bytes have another encoding.

    Raises:
        ParseFailed: If the text contains NUL characters.
    """
    encoding = next((name for mark, name in _BOMS if data.startswith(mark)), "utf-8")
    try:
        decoded = data.decode(encoding)
    except UnicodeDecodeError:
        return None
    if "\x00" in decoded:
        raise ParseFailed("The file contains NUL bytes, so it is not text.")
    return decoded
