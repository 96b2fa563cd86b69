"""Detects the format of a document in a container (ZIP, OLE), which the first bytes do not show."""

from rag.errors import ParseFailed, UnsupportedFormat

from . import formats, zip_files
from .detection import OLE_MAGIC

# The streams of each format. Excel up to 95 names its stream Book.
_STREAMS = [
    ("__properties_version1.0", formats.MSG),  # first: its attachments can contain the other streams
    ("PowerPoint Document", formats.PPT),
    ("WordDocument", formats.DOC),
    ("Workbook", formats.XLS),
    ("Book", formats.XLS),
]


def detect_container_type(content: bytes, media_type: str) -> str:
    """Return the MIME type of a file.

    Args:
        content: The whole file.
        media_type: The MIME type that `rag.parsing.detection.detect_type` detected from the first bytes.

    Raises:
        UnsupportedFormat: If the container has a format that cannot be read.
        ParseFailed: If the file is damaged or protected by a password.
    """
    if content.startswith(zip_files.MAGIC) and (media_type in formats.ZIPPED or media_type == formats.ZIP):
        return zip_files.detect_zip_type(content)
    if content.startswith(OLE_MAGIC):
        return _detect_ole_type(content, media_type)
    return media_type


def _detect_ole_type(content: bytes, claimed: str) -> str:
    """Return the claimed type if the container has its stream, because it may embed files of the other types."""
    media_types = [media_type for stream, media_type in _STREAMS if stream.encode("utf-16-le") in content]
    if not media_types and "EncryptedPackage".encode("utf-16-le") in content:
        raise ParseFailed("The file is protected by a password. Remove the protection and send it again.")
    if not media_types:
        raise UnsupportedFormat("The file is an OLE container of an unknown kind, or it is cut off.")
    return claimed if claimed in media_types else media_types[0]
