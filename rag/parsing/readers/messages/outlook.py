"""What is attached to a message of Outlook (.msg): files and messages, as parts of a MIME message.

The file is a compound file (MS-CFB) with a storage for each attachment and a stream for each property (MS-OXMSG).
"""

import datetime
import email.policy
import email.utils
import io
import re
import struct
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from email.message import EmailMessage

import olefile

from rag.parsing import encodings, formats

# What a damaged compound file makes the library raise.
DAMAGES = (OSError, ValueError, IndexError, KeyError, TypeError, AttributeError, struct.error, RecursionError)

# Tags of properties (MS-OXPROPS).
_SUBJECT, _SENDER, _ADDRESS, _SMTP_ADDRESS, _TO, _CC = 0x0037, 0x0C1A, 0x0C1F, 0x5D01, 0x0E04, 0x0E03
_DATES = (0x0039, 0x0E06)  # sent, received
_BODY, _HTML = 0x1000, 0x1013
_DATA, _LONG_NAME, _SHORT_NAME, _DISPLAY_NAME, _MIME_TYPE = 0x3701, 0x3707, 0x3704, 0x3001, 0x370E
_IS_HIDDEN = 0x7FFE
# Types of properties: a message within this one, bytes, and texts in UTF-16 or in an encoding of Windows.
_OBJECT, _BINARY, _UNICODE, _TEXT = "000D", "0102", "001F", "001E"
# An entry of the stream of fixed properties: type, tag, flags, value.
_ENTRY = struct.Struct("<HHIQ")
_TIME_TYPE, _BOOLEAN_TYPE = 0x0040, 0x000B
# What precedes the entries: of the file's message, of a message in it, and of an attachment.
_HEADER_BYTES, _INNER_HEADER_BYTES, _ATTACHMENT_HEADER_BYTES = 32, 24, 8
_FIRST_TIME = datetime.datetime(1601, 1, 1, tzinfo=datetime.UTC)
_TYPE = re.compile(r"(?!multipart/|message/)[\w.+-]{1,100}/[\w.+-]{1,100}", re.ASCII)
_MAX_FIELD_CHARACTERS = 10_000


def read_attachments(content: bytes, *, limit: int, depth: int) -> list[EmailMessage]:
    """Return the attachments of a message.

    Args:
        content: The message's file.
        limit: The maximum number of attachments of a message. Further ones have no content.
        depth: How many messages within messages are read.

    Raises:
        One of DAMAGES: If the file is damaged.
    """
    with olefile.OleFileIO(io.BytesIO(content)) as file:
        # Streams may overlap in a file that was made for it: together they are not read beyond its size.
        return list(_Message(file, (), limit, _Budget(len(content))).attachments(depth))


@dataclass(slots=True)
class _Budget:
    """How many bytes may still be read."""

    remaining: int


@dataclass(frozen=True, slots=True)
class _Storage:
    """A storage with streams of properties. `path`: the names of the storages that it is in, and its own."""

    file: olefile.OleFileIO
    path: tuple[str, ...]
    limit: int
    budget: _Budget

    def read(self, name: str) -> bytes:
        """Return the content of a stream; empty if it does not exist, or exceeds what may be read."""
        path = [*self.path, name]
        if not self.file.exists(path) or self.file.get_type(path) != olefile.STGTY_STREAM:
            return b""
        size = self.file.get_size(path)
        if size > self.budget.remaining:
            return b""
        self.budget.remaining -= size
        return bytes(self.file.openstream(path).read(size))

    def property_bytes(self, tag: int) -> bytes:
        return self.read(f"__substg1.0_{tag:04X}{_BINARY}")

    def text(self, tag: int) -> str:
        if content := self.read(f"__substg1.0_{tag:04X}{_UNICODE}"):
            return content.decode("utf-16-le", "replace").rstrip("\0")
        content = self.read(f"__substg1.0_{tag:04X}{_TEXT}").rstrip(b"\0")
        return encodings.decode_text(content) if content else ""

    def field(self, tag: int) -> str:
        """Return a text in one line, which a header can have."""
        return " ".join(self.text(tag).split())[:_MAX_FIELD_CHARACTERS]

    def fixed_properties(self, header_bytes: int) -> dict[tuple[int, int], int]:
        """Return (tag, type) → value of the properties whose values have a fixed size."""
        entries = self.read("__properties_version1.0")[header_bytes:]
        entries = entries[: len(entries) // _ENTRY.size * _ENTRY.size]
        return {(tag, kind): value for kind, tag, _, value in _ENTRY.iter_unpack(entries)}


class _Message(_Storage):
    """A message: that of the file, or one within it."""

    def attachments(self, depth: int) -> Iterator[EmailMessage]:
        """Yield the attached files, and messages above the lowest level, in their order."""
        start = len(self.path)
        names = {
            path[start]
            for path in self.file.listdir(streams=False, storages=True)
            if len(path) > start and tuple(path[:start]) == self.path and path[start].startswith("__attach_version1.0_")
        }
        for number, name in enumerate(sorted(names)):
            attachment = _Storage(self.file, (*self.path, name), self.limit, self.budget)
            yield _as_part(attachment, depth if number < self.limit else 0, has_content=number < self.limit)

    def as_email(self, depth: int) -> EmailMessage:
        """Return the message with its attachments. A body that exists in RTF only is left out."""
        message = EmailMessage()
        sender, address = self.field(_SENDER), self.field(_SMTP_ADDRESS) or self.field(_ADDRESS)
        values = self.fixed_properties(_INNER_HEADER_BYTES)
        date = next((value for tag in _DATES if (value := values.get((tag, _TIME_TYPE)))), 0)
        headers = {
            "Subject": self.field(_SUBJECT),
            "From": email.utils.formataddr((sender, address)) if "@" in address else sender,
            "To": self.field(_TO),
            "Cc": self.field(_CC),
            "Date": _format_date(date),
        }
        for name, content in headers.items():
            with suppress(ValueError, IndexError, TypeError, AttributeError):
                if content:
                    message[name] = content
        body = EmailMessage()
        if text := self.text(_BODY):
            body.set_content(text)
        elif html := self.property_bytes(_HTML) or self.text(_HTML).encode():
            body["Content-Type"] = "text/html"
            body.set_payload(html)
        message["Content-Type"] = "multipart/mixed"
        message.set_payload([body, *self.attachments(depth)])
        return message


def _as_part(attachment: _Storage, depth: int, *, has_content: bool) -> EmailMessage:
    part = EmailMessage()
    object_name = f"__substg1.0_{_DATA:04X}{_OBJECT}"
    inner_path = (*attachment.path, object_name)
    is_message = attachment.file.exists([*inner_path, "__properties_version1.0"])
    mime_type = attachment.field(_MIME_TYPE)
    part["Content-Type"] = formats.EML if is_message else _safe_type(mime_type)
    is_hidden = attachment.fixed_properties(_ATTACHMENT_HEADER_BYTES).get((_IS_HIDDEN, _BOOLEAN_TYPE), 0)
    part["Content-Disposition"] = "inline" if is_hidden & 1 else "attachment"
    names = (attachment.field(tag) for tag in (_LONG_NAME, _SHORT_NAME, _DISPLAY_NAME))
    if name := next(filter(None, names), ""):
        part.set_param("filename", name, header="Content-Disposition")
    if is_message:
        inner = _Message(attachment.file, inner_path, attachment.limit, attachment.budget)
        part.set_payload([inner.as_email(depth - 1)] if depth > 0 else [])
    else:
        part.set_payload(attachment.property_bytes(_DATA) if has_content else b"")
    return part


def _safe_type(mime_type: str) -> str:
    return mime_type if _TYPE.fullmatch(mime_type) else "application/octet-stream"


def _format_date(filetime: int) -> str:
    """Return the date of a header for a number of 100 nanoseconds since 1601; empty for none."""
    with suppress(OverflowError):
        return (
            email.utils.format_datetime(_FIRST_TIME + datetime.timedelta(microseconds=filetime // 10))
            if filetime
            else ""
        )
    return ""
