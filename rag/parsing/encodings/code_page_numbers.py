"""Code pages: the numbers by which Outlook and Office 97 to 2003 name the encodings of texts."""

import codecs

# Numbers that Python's codecs do not have in their names. ASCII and Latin-1 are declared where cp1252 is used.
_CODECS = {
    10000: "mac_roman", 10001: "cp932", 10002: "cp950", 10003: "cp949", 10006: "mac_greek", 10007: "mac_cyrillic",
    10008: "gb18030", 10029: "mac_latin2", 10079: "mac_iceland", 10081: "mac_turkish", 936: "gb18030",
    20127: "cp1252", 20866: "koi8_r", 20932: "euc_jp", 20936: "gb18030", 21866: "koi8_u", 28591: "cp1252",
    **{28590 + part: f"iso8859_{part}" for part in (2, 3, 4, 5, 6, 7, 8, 10, 11, 13, 14, 15, 16)}, 28599: "cp1254",
    38598: "iso8859_8", 50220: "iso2022_jp", 50221: "iso2022_jp", 50222: "iso2022_jp", 50225: "iso2022_kr",
    51932: "euc_jp", 51936: "gb18030", 51949: "cp949", 52936: "hz", 54936: "gb18030", 65001: "utf-8",
}  # fmt: skip
_DEFAULT = "cp1252"


def find_codec(code_page: int) -> str:
    """Return the name of Python's codec for a code page; empty if it is unknown."""
    name = _CODECS.get(code_page, f"cp{code_page}")
    try:
        return codecs.lookup(name).name
    except LookupError:
        return ""


def decode(content: bytes, codec: str) -> str:
    """Decode a text without its NUL characters. An empty codec stands for that of Western Europe, cp1252."""
    return content.decode(codec or _DEFAULT, "replace").replace("\0", "")
