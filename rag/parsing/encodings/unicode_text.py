"""Decoding of UTF-8, UTF-16 and UTF-32."""

import codecs
import re
from pathlib import Path

from rag.errors import ParseFailed
from rag.types import DocumentText, LongText

_BOMS = [
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
]
# What Japanese text in ISO-2022-JP has before its letters, all of which are ASCII bytes.
JAPANESE_SHIFT = re.compile(rb"\x1b\$[@B]")
# In how many bytes the encoding is looked for, and how many characters are decoded at a time.
_HEAD_BYTES, _READ_CHARACTERS = 1024 * 1024, 256 * 1024
# Larger files are read as a LongText.
_MIN_LONG_BYTES = 20_000_000


def unmarked_utf16(data: bytes) -> str:
    """Return the byte order of UTF-16 without a byte-order mark, as far as Latin letters show it; empty if unknown."""
    sample = data[:2048]
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    if max(even, odd) < len(sample) * 0.35 or min(even, odd) > len(sample) * 0.01:
        return ""
    return "utf-16-le" if odd > even else "utf-16-be"


def decode_unicode_file(file: Path) -> DocumentText | None:
    """Decode a file as `decode_unicode` does, in parts, so that bytes and text are not both in memory.

    Returns:
        The text; None if the bytes have another encoding.

    Raises:
        ParseFailed: If the text contains NUL characters.
    """
    with file.open("rb") as stream:
        encoding = _encoding_of(head := stream.read(_HEAD_BYTES))
        if encoding == "utf-8" and JAPANESE_SHIFT.search(head):
            return None
    try:
        return read_text(file, encoding)
    except UnicodeDecodeError:
        return None


def read_text(file: Path, encoding: str = "utf-8") -> DocumentText:
    """Read a text file, a large one as a LongText.

    Raises:
        ParseFailed: If the text contains NUL characters.
        UnicodeDecodeError: If the file has another encoding.
    """
    with file.open(encoding=encoding, newline="") as stream:
        if file.stat().st_size < _MIN_LONG_BYTES:
            return _without_nul(_without_filling(stream.read()))
        return LongText(_without_nul(part) for part in iter(lambda: stream.read(_READ_CHARACTERS), ""))


def decode_unicode(data: bytes) -> str | None:
    """Decode UTF-8, UTF-16, or UTF-32 with a byte-order mark.

    Returns:
        The text; None if the bytes have another encoding.

    Raises:
        ParseFailed: If the text contains NUL characters.
    """
    try:
        return _without_nul(_without_filling(data.decode(_encoding_of(data))))
    except UnicodeDecodeError:
        return None


def without_filling(data: bytes) -> bytes:
    """Return a text without the NUL bytes at its end, which are part of the last character in UTF-16 and UTF-32."""
    text = data.rstrip(b"\x00\r\n") if b"\x00" in data else data
    return text if _encoding_of(text).startswith("utf-8") else data


def _encoding_of(data: bytes) -> str:
    """Return the encoding that the first bytes of a file show; UTF-8 if they show none."""
    return next((name for mark, name in _BOMS if data.startswith(mark)), "") or unmarked_utf16(data) or "utf-8"


def _without_filling(decoded: str) -> str:
    """Return a text without the NUL characters at its end: old programs fill the last block of a file with them."""
    return decoded.rstrip("\x00\r\n") if "\x00" in decoded else decoded


def _without_nul(decoded: str) -> str:
    if "\x00" in decoded:
        raise ParseFailed("The file contains NUL bytes, so it is not text.")
    return decoded
