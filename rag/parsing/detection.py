"""Detects the format of a file from its content. Declared type and name only choose among what the content allows."""

import re
from collections.abc import Callable

from rag.errors import UnsupportedFormat

from . import formats, zip_files
from .encodings.unicode_text import unmarked_utf16

OLE_MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ADVICE = (
    "Send a text, Markdown, HTML, PDF, Word, PowerPoint, Excel, OpenDocument, RTF, CSV, EPUB, e-mail, JSON or subtitle "
    "file, or a picture of text (PNG, JPEG, TIFF, WebP)."
)

# First bytes of pictures whose text can be recognised.
_PICTURES = [
    (re.compile(rb"\x89PNG\r\n"), formats.PNG),
    (re.compile(rb"\xff\xd8\xff"), formats.JPEG),
    (re.compile(rb"II\*\x00|MM\x00\*"), formats.TIFF),
    (re.compile(rb"RIFF.{4}WEBP", re.S), formats.WEBP),
]
# First bytes of formats that are not supported.
_UNSUPPORTED = [
    (b"GIF8", "a picture (GIF)"),
    (b"8BPS", "a picture (Photoshop)"),
    (b"ID3", "a sound file (MP3)"),
    (b"OggS", "a sound file (Ogg)"),
    (b"fLaC", "a sound file (FLAC)"),
    (b"RIFF", "a sound, film or picture file (RIFF)"),
    (b"\x1aE\xdf\xa3", "a film (Matroska)"),
    (b"\x1f\x8b", "a compressed file (gzip)"),
    (b"BZh", "a compressed file (bzip2)"),
    (b"\xfd7zXZ\x00", "a compressed file (xz)"),
    (b"\x28\xb5\x2f\xfd", "a compressed file (zstd)"),
    (b"7z\xbc\xaf\x27\x1c", "an archive (7z)"),
    (b"Rar!\x1a", "an archive (RAR)"),
    (b"\x7fELF", "a program"),
    (b"\xca\xfe\xba\xbe", "a program"),
    (b"SQLite format 3\x00", "a database (SQLite)"),
]

# Control characters that no text has in any encoding. ESC is left out: it starts a shift sequence in ISO-2022-JP.
_CONTROLS = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
# A letter that the next one is struck over, as manual pages have it, and what separates the nodes of Info files.
_IN_MANUALS = re.compile(rb"[^\x00-\x1f]\x08|\x1f(?=\r?\n)")
# Atomic: a comment ends at its first "-->". Otherwise each of many comments could end at every later one.
_COMMENTS = r"(?:(?><!--.*?-->)\s*)*+"
_HTML_START = re.compile(rf"\s*(<\?xml[^>]*>\s*)?{_COMMENTS}<(!doctype\s+html|html|head|body)\b", re.I | re.S)
_HTML_TAG = re.compile(r"</?(html|head|body|title|p|div|h[1-6]|table|ul|ol|br|span|a|article|section)\b[^>]*>", re.I)
_SRT_START = re.compile(r"\s*\d+[ \t]*\r?\n\d{1,2}:\d\d:\d\d[,.]\d{3}\s*-->")
_MAIL_LINE = re.compile(
    r"^(From|To|Subject|Date|Received|Return-Path|Message-ID|MIME-Version|Delivered-To|Content-Type):", re.I | re.M
)
# Only the beginning of a text is examined.
_SAMPLE_LENGTH = 16_384


def detect_type(head: bytes, *, content_type: str, name: str) -> str:
    """Return the MIME type of a file.

    Args:
        head: The first bytes of the file: at least 1,000, better 16,000.
        content_type: The type that the client declared; empty if it declared none.
        name: The file's name or URL.

    Returns:
        A MIME type. For a container whose content is not known yet, `formats.ZIP` or `formats.OLE`.

    Raises:
        UnsupportedFormat: If the file cannot be read.
    """
    claimed = formats.claimed_type(content_type, name)
    if head.lstrip(b"\xef\xbb\xbf\r\n\t \x00").startswith(b"%PDF-"):
        return formats.PDF
    if claimed == formats.PDF and b"%PDF-" in head[:1024]:
        return formats.PDF
    if head.startswith(zip_files.MAGIC):
        return _zip_type(head, claimed)
    if head.startswith(OLE_MAGIC):
        return claimed if claimed in formats.IN_OLE else formats.OLE
    if head.lstrip(b"\xef\xbb\xbf\r\n\t ").startswith(b"{\\rtf"):
        return formats.RTF
    for beginning, picture_type in _PICTURES:
        if beginning.match(head):
            return picture_type
    for magic, description in _UNSUPPORTED:
        if head.startswith(magic):
            raise UnsupportedFormat(f"The file is {description}, which cannot be read. {_ADVICE}")
    if not _looks_like_text(head):
        raise UnsupportedFormat(f"The file is neither text nor a format that can be read. {_ADVICE}")
    if claimed and not formats.is_text(claimed) and claimed not in formats.BINARY - formats.PICTURES:
        raise UnsupportedFormat(f"{claimed} cannot be read. If the file is text, declare it as text/plain.")
    return detect_text_type(_decode_ascii(head[:_SAMPLE_LENGTH]), content_type=content_type, name=name)


def detect_text_type(content: str, *, content_type: str, name: str) -> str:
    """Return the MIME type of a text. The arguments are those of `detect_type`."""
    head = content[:_SAMPLE_LENGTH].lstrip("\ufeff")
    claimed = formats.claimed_type(content_type, name)
    declared = formats.normalize_mime_type(content_type)
    for media_type, matches in _SIGNATURES.items():
        if claimed == media_type and matches(head):
            return media_type
    for beginning, media_type in _BEGINNINGS:
        if beginning.match(head):
            return media_type
    is_undeclared = claimed in ("", formats.PLAIN) and declared != formats.PLAIN
    if (is_undeclared and formats.type_from_name(name) != formats.PLAIN) or claimed in formats.BINARY:
        if _HTML_START.match(head):
            return formats.HTML
        if _is_mail(head):
            return formats.EML
        if _SRT_START.match(head):
            return formats.SRT
    # The claimed type does not fit, so the text is read as plain text.
    if not claimed or claimed in _SIGNATURES or claimed in formats.BINARY or not formats.is_text(claimed):
        return formats.PLAIN
    return claimed


def _is_mail(head: str) -> bool:
    fields = {match.group(1).lower() for match in _MAIL_LINE.finditer(re.split(r"\r?\n\r?\n", head, maxsplit=1)[0])}
    return bool(_MAIL_LINE.match(head)) and "from" in fields and len(fields) >= 3


def _has_headers(head: str) -> bool:
    """Return whether a text begins with a header. Apple Mail writes the length of the message before it."""
    return bool(re.match(r"(?:\d{1,9}[ \t]*\r?\n)?\s*[!-9;-~]+:", head))


# Beginnings that no other kind of text has.
_BEGINNINGS = [
    (re.compile("WEBVTT"), formats.VTT),
    (re.compile(r"\s*\[Script Info\]", re.I), formats.SSA),
    (re.compile(r"\s*\d{1,2}(?::\d\d){2}\.\d{3},\d{1,2}(?::\d\d){2}\.\d{3}[ \t]*\r?\n"), formats.SBV),
    (re.compile(r"\s*BEGIN:VCALENDAR\b", re.I), formats.ICS),
    (re.compile(r"\s*BEGIN:VCARD\b", re.I), formats.VCF),
    (re.compile(rf"\s*<\?xml[^>]*>\s*{_COMMENTS}<FictionBook\b", re.S), formats.FB2),
    *(
        (re.compile(rf"\s*<\?xml[^>]*>\s*<office:document\b[^>]*\boffice:mimetype=[\"']{media_type}[\"'-]"), media_type)
        for media_type in formats.OPEN_DOCUMENT
    ),
    (
        re.compile(
            rf"\s*<\?xml[^>]*>\s*(?:<\?mso-application\b[^>]*>\s*)?{_COMMENTS}"
            r"<(?:\w{1,10}:)?Workbook\b[^>]*[\"']urn:schemas-microsoft-com:office:spreadsheet[\"']"
        ),
        formats.XLS,
    ),
    (
        re.compile(
            rf"\s*<\?xml[^>]*>\s*(?:<\?mso-application\b[^>]*>\s*)?{_COMMENTS}"
            r"<\w{1,10}:wordDocument\b[^>]*[\"']http://schemas\.microsoft\.com/office/word/2003/wordml[\"']"
        ),
        formats.DOCX,
    ),
    (
        re.compile(
            r"\s*<\?xml[^>]*>\s*<\?mso-application progid=\"Word\.Document\"\?>\s*"
            r"<pkg:package\b[^>]*[\"']http://schemas\.microsoft\.com/office/2006/xmlPackage[\"']"
        ),
        formats.DOCX,
    ),
    (
        re.compile(
            rf"\s*(?:<\?xml[^>]*>\s*)?{_COMMENTS}<(?:\w{{1,10}}:)?tt\b[^>]*"
            r"=[\"']https?://www\.w3\.org/[\w/]{1,20}\b(?:ttml|ttaf1)\b"
        ),
        formats.TTML,
    ),
    (re.compile(r"From \S+[^\n]*\d\d:\d\d[^\n]*\d{4}[^\n]*\n[!-9;-~]+:"), formats.MBOX),
]
# A text has a claimed type only if its beginning matches.
_SIGNATURES: dict[str, Callable[[str], bool]] = {
    formats.HTML: lambda head: bool(_HTML_START.match(head) or _HTML_TAG.search(head)),
    formats.EML: _has_headers,
    formats.VTT: lambda head: head.startswith("WEBVTT"),
    formats.ICS: lambda head: False,  # detected by their beginnings
    formats.VCF: lambda head: False,
    formats.FB2: lambda head: False,
    formats.TTML: lambda head: False,
    formats.SSA: lambda head: False,
    formats.SBV: lambda head: False,
    formats.MBOX: lambda head: head.startswith("From "),
    formats.SRT: lambda head: "-->" in head,
    formats.JSON: lambda head: head.lstrip()[:1] in ("{", "["),
    formats.NOTEBOOK: lambda head: head.lstrip()[:1] == "{",
}


def _zip_type(head: bytes, claimed: str) -> str:
    """Return the type of a ZIP container as far as its first bytes show it.

    Args:
        head: The first bytes of the file.
        claimed: The type that the client claims.

    Returns:
        EPUB if the first bytes show it, else the claimed type if it is a ZIP container. Otherwise `formats.ZIP`, for an
        Office or EPUB file whose type is read from its content later.

    Raises:
        UnsupportedFormat: If it is another ZIP archive.
    """
    if b"mimetypeapplication/epub+zip" in head[:100]:
        return formats.EPUB
    if b"mimetypeapplication/vnd.oasis.opendocument." in head[:100]:
        return formats.ZIP
    if claimed in formats.ZIPPED:
        return claimed
    if any(
        marker in head for marker in (b"[Content_Types].xml", b"_rels/.rels", b"word/", b"xl/", b"ppt/", b"META-INF/")
    ):
        return formats.ZIP
    raise UnsupportedFormat("The file is a ZIP archive. Unpack it and send the documents in it.")


def _looks_like_text(head: bytes) -> bool:
    if head.startswith((b"\xff\xfe", b"\xfe\xff")) or unmarked_utf16(head):
        return True
    sample = head[:_SAMPLE_LENGTH].rstrip(b"\x00\r\n")  # old programs fill the last block of a file
    controls = len(_CONTROLS.findall(_IN_MANUALS.sub(b"", sample)))
    return (bool(sample) or b"\x00" not in head) and b"\x00" not in sample and controls <= len(sample) // 200


def _decode_ascii(head: bytes) -> str:
    """Decode enough to match signatures, all of which are ASCII."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return head.decode("utf-16", "replace")
    if encoding := unmarked_utf16(head):
        return head.decode(encoding, "replace")
    return head.decode("utf-8-sig", "replace")
