"""Text in older encodings. It guesses from hostile bytes, so it runs in the sandbox."""

import codecs
import re

import charset_normalizer

from rag.errors import ParseFailed

from . import text

_META_CHARSET = re.compile(rb"<(?:meta|\?xml)[^>]{0,200}(?:charset|encoding)\s*=\s*[\"']?\s*([\w.:-]{2,40})", re.I)
# Guessing is slow, and a longer look does not make it better.
_SAMPLE = 65_536
# So few accents tell the single-byte encodings apart no longer; the commonest is the best guess.
_FEW = 16
_HIGH = re.compile(rb"[\x80-\xff]")


def decode_text(data: bytes) -> str:
    """Unicode as it says it is; else as the page declares; else the likeliest encoding. Raises ParseFailed."""
    decoded = text.try_decode_unicode(data)
    if decoded is not None:
        return decoded
    if b"\x00" in data:
        raise ParseFailed("The file contains NUL bytes, so it is not text.")
    for encoding in (_declared(data), _likeliest(data)):
        if encoding:
            decoded = data.decode(encoding, "replace")
            if decoded.count("\ufffd") <= len(decoded) // 1000:
                return decoded
    raise ParseFailed("The encoding of the text cannot be told. Save it as UTF-8 and send it again.")


def _declared(data: bytes) -> str:
    match = _META_CHARSET.search(data[:4096])
    return _known(match.group(1).decode("ascii")) if match else ""


def _likeliest(data: bytes) -> str:
    sample = data[:_SAMPLE]
    if len(data) > _SAMPLE:  # not in the middle of a character
        sample = sample.rsplit(b"\n", 1)[0]
    best = charset_normalizer.from_bytes(sample).best()
    if best and not best.multi_byte_usage and len(_HIGH.findall(sample)) < _FEW:
        return "cp1252"
    return _known(best.encoding) if best else ""


def _known(encoding: str) -> str:
    """Only encodings of text: Python has others."""
    try:
        info = codecs.lookup(encoding)
        "".encode(encoding)
    except (LookupError, TypeError, ValueError):
        return ""
    return info.name if info.name != "utf-8" else ""
