"""Attachments that Outlook packs into a file of its own, winmail.dat (MS-OXTNEF), as parts of a MIME message."""

import struct
from collections.abc import Iterator
from email.message import EmailMessage

from rag.parsing.encodings import code_page_numbers

MAGIC = b"\x78\x9f\x3e\x22"
# An attribute: its level, its id, its length, then its content and a checksum of two bytes.
_ATTRIBUTE = struct.Struct("<BII")
_CHECKSUM_BYTES, _HEADER_BYTES = 2, 6
_CODE_PAGE, _NEW_ATTACHMENT, _NAME, _DATA, _PROPERTIES = 0x00069007, 0x00069002, 0x00018010, 0x0006800F, 0x00069005
# Of the properties of an attachment: its long name, in UTF-16 or in the code page of the file.
_LONG_NAMES = ((b"\x1f\x00\x07\x37", "utf-16-le"), (b"\x1e\x00\x07\x37", ""))
_MAX_NAME_BYTES = 1_000


def read_attachments(content: bytes, *, limit: int) -> list[EmailMessage]:
    """Return the attached files. A file that is cut off has those that are whole.

    Args:
        content: The file winmail.dat.
        limit: The maximum number of attachments.
    """
    codec, names, files = "", list[str](), list[bytes]()
    for identifier, value in _attributes(content):
        if identifier == _CODE_PAGE and len(value) >= 4:
            codec = code_page_numbers.find_codec(int.from_bytes(value[:4], "little"))
        elif identifier == _NEW_ATTACHMENT:
            if len(files) == limit:
                break
            names.append("")
            files.append(b"")
        elif files and identifier == _NAME:
            names[-1] = names[-1] or code_page_numbers.decode(value, codec)
        elif files and identifier == _DATA:
            files[-1] = value
        elif files and identifier == _PROPERTIES:
            names[-1] = _long_name(value, codec) or names[-1]
    return [_as_part(name, file) for name, file in zip(names, files, strict=True) if file]


def _attributes(content: bytes) -> Iterator[tuple[int, bytes]]:
    start = _HEADER_BYTES
    while start + _ATTRIBUTE.size <= len(content):
        _, identifier, length = _ATTRIBUTE.unpack_from(content, start)
        start += _ATTRIBUTE.size
        if start + length > len(content):
            return
        yield identifier, content[start : start + length]
        start += length + _CHECKSUM_BYTES


def _long_name(properties: bytes, codec: str) -> str:
    """Return the long name among the properties: after its tag come the numbers of values and of bytes."""
    for tag, encoding in _LONG_NAMES:
        place = properties.find(tag)
        if 0 <= place <= len(properties) - 12:
            length = min(int.from_bytes(properties[place + 8 : place + 12], "little"), _MAX_NAME_BYTES)
            return code_page_numbers.decode(properties[place + 12 : place + 12 + length], encoding or codec)
    return ""


def _as_part(name: str, file: bytes) -> EmailMessage:
    part = EmailMessage()
    part["Content-Type"] = "application/octet-stream"
    part.add_header("Content-Disposition", "attachment", filename=" ".join(name.split()) or "attachment")
    part.set_payload(file)
    return part
