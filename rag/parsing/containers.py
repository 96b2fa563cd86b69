"""What is inside a container (ZIP, OLE), which its first bytes do not tell."""

from rag.errors import ParseFailed, UnsupportedFormat

from . import archives, formats
from .detection import OLE_MAGIC

_OLD = {"WordDocument": ".docx", "Workbook": ".xlsx", "PowerPoint Document": ".pptx"}


def detect_container_type(content: bytes, media_type: str) -> str:
    """The MIME type of a file of which the beginning is known. Raises UnsupportedFormat, ParseFailed."""
    if media_type in formats.ZIPPED or media_type == formats.ZIP:
        return archives.detect_zip_type(content)
    if content.startswith(OLE_MAGIC):
        return _stored(content)
    return media_type


def _stored(content: bytes) -> str:
    def holds(stream: str) -> bool:
        return stream.encode("utf-16-le") in content

    # First what may contain the others as attachments.
    if holds("__properties_version1.0"):
        return formats.MSG
    if holds("EncryptedPackage"):
        raise ParseFailed("The file is protected by a password. Remove the protection and send it again.")
    for stream, newer in _OLD.items():
        if holds(stream):
            raise UnsupportedFormat(f"The file is in Office's format of before 2007. Save it as {newer} and send that.")
    raise UnsupportedFormat("The file is an OLE container of no known kind, or it is cut off.")
