"""ZIP containers: what they hold, and whether unpacking them costs more than it may."""

import io
import zipfile
import zlib

from rag.errors import ParseFailed, RagError, UnsupportedFormat

from . import formats
from .sandbox.limits import Limits

_MEMBERS = {"word/document.xml": formats.DOCX, "xl/workbook.xml": formats.XLSX, "ppt/presentation.xml": formats.PPTX}
_DAMAGED = "The file is damaged or cut off. Open it, save it again and send that."
_TOO_MUCH = "The file unpacks to more than {most:,} MB, which is not read. Send its content in smaller files."
_MAX_MEMBERS = 10_000
# Deflate cannot do more than 1,032 : 1; text of real documents stays far below this.
_MAX_RATIO = 300
_FREE = 8 * 2**20
_STEP = 2**20


def detect_zip_type(content: bytes) -> str:
    """The format of which a container is. Raises UnsupportedFormat, ParseFailed."""
    with _opened(content) as archive:
        names = set(archive.namelist())
        if "mimetype" in names and archive.getinfo("mimetype").file_size < 100:
            try:
                if archive.read("mimetype").strip() == formats.EPUB.encode():
                    return formats.EPUB
            except (zipfile.BadZipFile, zlib.error, RuntimeError, OSError, NotImplementedError):
                raise ParseFailed(_DAMAGED) from None
        found = [media_type for member, media_type in _MEMBERS.items() if member in names]
        if not found and "META-INF/container.xml" in names:
            return formats.EPUB
        if not found and "[Content_Types].xml" in names:  # Office need not call its main part so, but always does
            raise UnsupportedFormat("The file is neither a Word, an Excel nor a PowerPoint file. Save it as one.")
    if not found:
        raise UnsupportedFormat("The file is a ZIP archive. Unpack it and send the documents in it.")
    return found[0]


def check_archive(content: bytes, limits: Limits) -> None:
    """Read every member once, in pieces. Raises ParseFailed for a bomb, a password or damage."""
    with _opened(content) as archive:
        members = archive.infolist()
        if len(members) > _MAX_MEMBERS:
            raise ParseFailed(f"The file has more than {_MAX_MEMBERS:,} parts, which is not read.")
        if any(member.flag_bits & 1 for member in members):
            raise ParseFailed("The file is protected by a password. Remove the protection and send it again.")
        if sum(member.file_size for member in members) > limits.unpacked:
            raise ParseFailed(_TOO_MUCH.format(most=limits.unpacked // 10**6))
        unpacked = 0
        for member in members:
            if member.file_size > max(_FREE, _MAX_RATIO * member.compress_size):
                raise ParseFailed("The file is packed so tightly that it looks like a ZIP bomb. Save it again.")
            unpacked += _size(archive, member, limits.unpacked - unpacked)


def _opened(content: bytes) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(io.BytesIO(content))
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError, EOFError):
        raise ParseFailed(_DAMAGED) from None


def _size(archive: zipfile.ZipFile, member: zipfile.ZipInfo, most: int) -> int:
    """What it really unpacks to: the size that is declared may be a lie."""
    size = 0
    try:
        with archive.open(member) as file:
            while piece := file.read(_STEP):
                size += len(piece)
                if size > most:
                    raise ParseFailed(_TOO_MUCH.format(most=most // 10**6))
    except RagError:
        raise
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError, NotImplementedError):
        raise ParseFailed(_DAMAGED) from None
    return size
