"""Decodes text in legacy encodings. Guessing from untrusted bytes runs in the sandbox."""

import codecs
import re

import charset_normalizer

from rag.errors import ParseFailed

from . import text

_META_CHARSET = re.compile(rb"<(?:meta|\?xml)[^>]{0,200}(?:charset|encoding)\s*=\s*[\"']?\s*([\w.:-]{2,40})", re.I)
# Detection is slow, and a longer sample does not improve it.
_SAMPLE_BYTES = 65_536
# Fewer non-ASCII bytes do not distinguish single-byte encodings; cp1252, the most common one, is assumed then.
_MIN_NON_ASCII = 16
_NON_ASCII = re.compile(rb"[\x80-\xff]")


def decode_text(data: bytes) -> str:
    """Decode a text: as Unicode, else in the encoding that it declares, else in the most likely one.

    Raises:
        ParseFailed: If the bytes are not text, or no encoding fits.
    """
    decoded = text.decode_unicode(data)
    if decoded is not None:
        return decoded
    if b"\x00" in data:
        raise ParseFailed("The file contains NUL bytes, so it is not text.")
    for encoding in (_declared_encoding(data), _detect_encoding(data)):
        if encoding:
            decoded = data.decode(encoding, "replace")
            if decoded.count("\ufffd") <= len(decoded) // 1000:
                return decoded
    raise ParseFailed("The encoding of the text cannot be detected. Save it as UTF-8 and send it again.")


def _declared_encoding(data: bytes) -> str:
    match = _META_CHARSET.search(data[:4096])
    return _text_encoding(match.group(1).decode("ascii")) if match else ""


def _detect_encoding(data: bytes) -> str:
    sample = data[:_SAMPLE_BYTES]
    if len(data) > _SAMPLE_BYTES:  # cut at a line end, not within a character
        sample = sample.rsplit(b"\n", 1)[0]
    best = charset_normalizer.from_bytes(sample).best()
    if best and not best.multi_byte_usage and len(_NON_ASCII.findall(sample)) < _MIN_NON_ASCII:
        return "cp1252"
    return _text_encoding(best.encoding) if best else ""


def _text_encoding(encoding: str) -> str:
    """Return the normalized name; empty for UTF-8, for unknown names and for codecs that do not encode text."""
    try:
        info = codecs.lookup(encoding)
        "".encode(encoding)
    except (LookupError, TypeError, ValueError):
        return ""
    return info.name if info.name != "utf-8" else ""
