"""ZIP containers: detects their format and checks them for ZIP bombs."""

import io
import zipfile
import zlib

from rag.errors import ParseFailed, RagError, UnsupportedFormat

from . import formats
from .sandbox.limits import Limits

MAGIC = (b"PK\x03\x04", b"PK\x05\x06")
_MEMBERS = {
    "word/document.xml": formats.DOCX,
    "xl/workbook.xml": formats.XLSX,
    "xl/workbook.bin": formats.XLSB,
    "ppt/presentation.xml": formats.PPTX,
}
# What the member `mimetype` may contain.
_DECLARED = {
    media_type + suffix: media_type
    for media_type in {formats.EPUB, *formats.OPEN_DOCUMENT}
    for suffix in ("", "-template")
} | {f"{formats.ODT}-{variant}": formats.ODT for variant in formats.OPEN_TEXT_VARIANTS}
_DAMAGED = "The file is damaged or cut off. Open it, save it again and send that."
_TOO_MUCH = "The file unpacks to more than {limit:,} MB, which is the limit. Send its content in smaller files."
_MAX_MEMBERS = 10_000
# Maximum compression ratio of a member. Deflate can reach 1,032 : 1, but real documents stay far below 300.
_MAX_RATIO = 300
# Members up to this size are not checked for their ratio.
_UNCHECKED_BYTES = 8 * 2**20
_READ_BYTES = 2**20


def detect_zip_type(content: bytes) -> str:
    """Return the MIME type of the document in a ZIP container.

    Raises:
        UnsupportedFormat: If the file is another kind of ZIP file.
        ParseFailed: If the file is damaged.
    """
    with _open(content) as archive:
        names = set(archive.namelist())
        if "mimetype" in names and archive.getinfo("mimetype").file_size < 100:
            try:
                if declared := _DECLARED.get(archive.read("mimetype").decode("ascii", "replace").strip()):
                    return declared
            except (zipfile.BadZipFile, zlib.error, RuntimeError, OSError, NotImplementedError):
                raise ParseFailed(_DAMAGED) from None
        media_types = [media_type for member, media_type in _MEMBERS.items() if member in names]
        if not media_types and "META-INF/container.xml" in names:
            return formats.EPUB
        if not media_types and "[Content_Types].xml" in names:  # an Office format whose main part has another name
            raise UnsupportedFormat("The file is neither a Word, an Excel nor a PowerPoint file. Save it as one.")
    if not media_types:
        raise UnsupportedFormat("The file is a ZIP archive. Unpack it and send the documents in it.")
    return media_types[0]


def check_archive(content: bytes, limits: Limits) -> None:
    """Unpack every member once without keeping it, before a library reads the file.

    Raises:
        ParseFailed: If the file is a ZIP bomb, protected by a password or damaged.
    """
    with _open(content) as archive:
        members = archive.infolist()
        if len(members) > _MAX_MEMBERS:
            raise ParseFailed(f"The file has more than {_MAX_MEMBERS:,} parts, which is the limit.")
        if any(member.flag_bits & 1 for member in members):
            raise ParseFailed("The file is protected by a password. Remove the protection and send it again.")
        if sum(member.file_size for member in members) > limits.unpacked_bytes:
            raise ParseFailed(_TOO_MUCH.format(limit=limits.unpacked_bytes // 10**6))
        unpacked_bytes = 0
        for member in members:
            if member.file_size > max(_UNCHECKED_BYTES, _MAX_RATIO * member.compress_size):
                raise ParseFailed("The compression ratio of the file is that of a ZIP bomb. Save it again.")
            unpacked_bytes += _unpacked_size(archive, member, limits.unpacked_bytes - unpacked_bytes)


def _open(content: bytes) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(io.BytesIO(content))
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError, EOFError):
        raise ParseFailed(_DAMAGED) from None


def _unpacked_size(archive: zipfile.ZipFile, member: zipfile.ZipInfo, max_bytes: int) -> int:
    """Return the actual size of a member in bytes, because the declared size may be wrong."""
    size = 0
    try:
        with archive.open(member) as file:
            while data := file.read(_READ_BYTES):
                size += len(data)
                if size > max_bytes:
                    raise ParseFailed(_TOO_MUCH.format(limit=max_bytes // 10**6))
    except RagError:
        raise
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError, NotImplementedError):
        raise ParseFailed(_DAMAGED) from None
    return size
