"""Decodes text in legacy encodings. Guessing from untrusted bytes runs in the sandbox."""

import codecs
import re

import charset_normalizer

from rag.errors import ParseFailed

from .eastern_european_and_hebrew_text import find_hebrew_encoding, find_other_encoding
from .unicode_text import JAPANESE_SHIFT, decode_unicode, without_filling
from .western_and_cyrillic_text import (
    best_western_encoding,
    find_cyrillic_encoding,
    find_western_encoding,
    is_latin_text,
)

_META_CHARSET = re.compile(rb"<(?:meta|\?xml)[^>]{0,200}(?:charset|encoding)\s*=\s*[\"']?\s*([\w.:-]{2,40})", re.I)
# Detection is slow, and a longer sample does not improve it.
_SAMPLE_BYTES = 65_536
# Fewer non-ASCII bytes do not distinguish single-byte encodings; cp1252, the most common one, is assumed then.
_MIN_NON_ASCII = 16
_UTF8_SEQUENCE = re.compile(rb"[\xc3-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
_ESCAPED_BYTE = re.compile("[\udc80-\udcff]")
_NON_ASCII = re.compile(rb"[\x80-\xff]")
_ANY_NON_ASCII = re.compile(r"[^\x00-\x7f]")
_KANA, _LEAST_KANA, _MIN_JAPANESE = re.compile("[\u3041-\u30fe]"), 0.2, 8


# What browsers read under these names (WHATWG Encoding Standard): pages declare them but use the larger sets.
_LARGER = {
    "ascii": "cp1252", "iso8859-1": "cp1252", "iso8859-9": "cp1254", "iso8859-11": "cp874", "tis-620": "cp874",
    "shift_jis": "cp932", "euc_kr": "cp949", "gb2312": "gb18030", "gbk": "gb18030", "big5": "cp950",
}  # fmt: skip
_OTHER_NAMES = {
    "x-sjis": "cp932", "windows-31j": "cp932", "windows-949": "cp949", "ks_c_5601-1987": "cp949",
    "x-gbk": "gb18030", "windows-874": "cp874", "dos-874": "cp874", "x-cp1251": "cp1251",
    "x-cp1252": "cp1252", "x-mac-cyrillic": "mac_cyrillic",
}  # fmt: skip


def decode_text(data: bytes, *, declared: str = "") -> str:
    """Decode a text: as Unicode, else in the encoding that is declared, else in the most likely one.

    Args:
        data: The text.
        declared: The encoding that is declared outside of the text; empty if there is none.

    Raises:
        ParseFailed: If the bytes are not text, or no encoding fits.
    """
    data = without_filling(data)
    if declared and (decoded := _decode_escaped(data, declared)) is not None:
        return decoded
    if JAPANESE_SHIFT.search(data) and data.isascii():
        return data.decode("iso2022_jp", "replace")
    decoded = decode_unicode(data)
    if decoded is not None:
        return decoded
    if b"\x00" in data:
        raise ParseFailed("The file contains NUL bytes, so it is not text.")
    if (repaired := _decode_mixed(data)) is not None:
        return repaired
    for find_encoding in (lambda _: _text_encoding(declared) if declared else "", _declared_encoding, _detect_encoding):
        if encoding := find_encoding(data):
            decoded = data.decode(encoding, "replace")
            if decoded.count("\ufffd") <= len(decoded) // 1000:
                return decoded
    raise ParseFailed("The encoding of the text cannot be detected. Save it as UTF-8 and send it again.")


def _decode_escaped(data: bytes, declared: str) -> str | None:
    """Decode an encoding that consists of ASCII bytes (ISO-2022, UTF-7, HZ), which also would be valid UTF-8."""
    name = _text_encoding(declared)
    if name.startswith(("iso2022", "utf-7", "hz")) and data.isascii():
        return data.decode(name, "replace")
    return None


def _decode_mixed(data: bytes) -> str | None:
    """Decode UTF-8 with a few characters of Windows-1252 in between, as texts have that were put together."""
    valid = len(_UTF8_SEQUENCE.findall(data))
    if valid < 4:
        return None
    decoded = data.decode("utf-8", "surrogateescape")
    invalid = sum(1 for _ in _ESCAPED_BYTE.finditer(decoded))
    if invalid * 4 > valid:
        return None
    return _ESCAPED_BYTE.sub(lambda match: bytes([ord(match[0]) - 0xDC00]).decode("cp1252", "replace"), decoded)


def _declared_encoding(data: bytes) -> str:
    match = _META_CHARSET.search(data[:4096])
    return _text_encoding(match.group(1).decode("ascii")) if match else ""


def _detect_encoding(data: bytes) -> str:
    sample = data[:_SAMPLE_BYTES]
    if len(data) > _SAMPLE_BYTES:  # cut at a line end, not within a character
        sample = sample.rsplit(b"\n", 1)[0]
    finders = (
        find_western_encoding,
        _encoding_with_kana,
        find_hebrew_encoding,
        find_cyrillic_encoding,
        find_other_encoding,
    )
    for find_encoding in finders:
        if encoding := find_encoding(sample):
            return encoding
    best = charset_normalizer.from_bytes(sample).best()
    if best and _is_unlikely(best, sample):
        return best_western_encoding(sample)
    return _text_encoding(best.encoding) if best else ""


def _is_unlikely(guess: charset_normalizer.CharsetMatch, sample: bytes) -> bool:
    """Return whether a guess from few bytes says less than that most texts have an encoding of Western Europe."""
    if guess.multi_byte_usage:
        return is_latin_text(_decode_strict(sample, guess.encoding))
    return len(_NON_ASCII.findall(sample)) < _MIN_NON_ASCII


def _encoding_with_kana(sample: bytes) -> str:
    """Return a Japanese encoding if the letters show it. The bytes of kana are rare ideographs in other encodings."""
    for encoding in ("euc_jp", "cp932"):
        decoded = _decode_strict(sample, encoding)
        foreign = len(_ANY_NON_ASCII.findall(decoded))
        if foreign >= _MIN_JAPANESE and len(_KANA.findall(decoded)) >= foreign * _LEAST_KANA:
            return encoding
    return ""


def _decode_strict(sample: bytes, encoding: str) -> str:
    try:
        return sample.decode(encoding)
    except UnicodeDecodeError:
        return ""


def _text_encoding(encoding: str) -> str:
    """Return the normalized name; empty for UTF-8, for unknown names and for codecs that do not encode text."""
    encoding = _OTHER_NAMES.get(encoding.lower(), encoding)
    try:
        info = codecs.lookup(encoding)
        "".encode(encoding)
    except (LookupError, TypeError, ValueError):
        return ""
    return _LARGER.get(info.name, info.name) if info.name != "utf-8" else ""
