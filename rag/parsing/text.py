"""Text, and the bytes that it was written as."""

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
    return ParsedDocument(text=content)


def decode_unicode(data: bytes) -> str:
    """Unicode with or without a byte-order mark. Raises ParseFailed for anything else."""
    decoded = try_decode_unicode(data)
    if decoded is None:
        raise ParseFailed("The file is not UTF-8 text. Save it as UTF-8.")
    return decoded


def try_decode_unicode(data: bytes) -> str | None:
    """The text, if it is UTF-8, or UTF-16 or UTF-32 with a byte-order mark. Raises ParseFailed for NUL characters."""
    encoding = next((name for mark, name in _BOMS if data.startswith(mark)), "utf-8")
    try:
        decoded = data.decode(encoding)
    except UnicodeDecodeError:
        return None
    if "\x00" in decoded:
        raise ParseFailed("The file contains NUL bytes, so it is not text.")
    return decoded
