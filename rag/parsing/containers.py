"""Detects the format of a document in a container (ZIP, OLE), which the first bytes do not show."""

from rag.errors import ParseFailed, UnsupportedFormat

from . import formats, zip_containers
from .detection import OLE_MAGIC

_LEGACY_STREAMS = {"WordDocument": ".docx", "Workbook": ".xlsx", "PowerPoint Document": ".pptx"}


def detect_container_type(content: bytes, media_type: str) -> str:
    """Return the MIME type of a file.

    Args:
        content: The whole file.
        media_type: The MIME type that `rag.parsing.detection.detect_type` detected from the first bytes.

    Raises:
        UnsupportedFormat: If the container has a format that cannot be read.
        ParseFailed: If the file is damaged or protected by a password.
    """
    if media_type in formats.ZIPPED or media_type == formats.ZIP:
        return zip_containers.detect_zip_type(content)
    if content.startswith(OLE_MAGIC):
        return _detect_ole_type(content)
    return media_type


def _detect_ole_type(content: bytes) -> str:
    """Return MSG for an Outlook message, and raise an error that says what to do for any other OLE container."""

    def has_stream(stream: str) -> bool:
        return stream.encode("utf-16-le") in content

    # Outlook messages first: their attachments can contain the other streams.
    if has_stream("__properties_version1.0"):
        return formats.MSG
    if has_stream("EncryptedPackage"):
        raise ParseFailed("The file is protected by a password. Remove the protection and send it again.")
    for stream, newer in _LEGACY_STREAMS.items():
        if has_stream(stream):
            raise UnsupportedFormat(
                f"The file has the format of Office 2003 or older. Save it as {newer} and send that."
            )
    raise UnsupportedFormat("The file is an OLE container of an unknown kind, or it is cut off.")
