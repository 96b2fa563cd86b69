"""What is attached to a message of Outlook (.msg): files and messages, as parts of a MIME message.

The file is a compound file (MS-CFB) with a storage for each attachment and a stream for each property (MS-OXMSG).
"""

import datetime
import email.policy
import email.utils
import io
import re
import struct
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from email.message import EmailMessage
from typing import Any

import olefile

from rag.errors import ParseFailed
from rag.parsing import formats
from rag.parsing.encodings import code_page_numbers
from rag.parsing.encodings.decode_text import decode_text

# What a damaged compound file makes the library raise, and malformed headers Python's parser.
DAMAGES = (OSError, ValueError, IndexError, KeyError, TypeError, AttributeError, struct.error, RecursionError)

# Tags of properties (MS-OXPROPS).
_SUBJECT, _SENDER, _ADDRESS, _SMTP_ADDRESS, _TO, _CC = 0x0037, 0x0C1A, 0x0C1F, 0x5D01, 0x0E04, 0x0E03
_DATES = (0x0039, 0x0E06)  # sent, received
_BODY, _HTML = 0x1000, 0x1013
_DATA, _LONG_NAME, _SHORT_NAME, _DISPLAY_NAME, _MIME_TYPE = 0x3701, 0x3707, 0x3704, 0x3001, 0x370E
_IS_HIDDEN = 0x7FFE
_CODE_PAGES = (0x3FFD, 0x3FDE)  # of the message, of its body on the internet
# Types of properties: a message within this one, bytes, and texts in UTF-16 or in an encoding of Windows.
_OBJECT, _BINARY, _UNICODE, _TEXT = "000D", "0102", "001F", "001E"
# An entry of the stream of fixed properties: type, tag, flags, value.
_ENTRY = struct.Struct("<HHIQ")
_TIME_TYPE, _BOOLEAN_TYPE, _INTEGER_TYPE = 0x0040, 0x000B, 0x0003
# What precedes the entries: of the file's message, of a message in it, and of an attachment.
_HEADER_BYTES, _INNER_HEADER_BYTES, _ATTACHMENT_HEADER_BYTES = 32, 24, 8
_FIRST_TIME = datetime.datetime(1601, 1, 1, tzinfo=datetime.UTC)
_TYPE = re.compile(r"(?!multipart/|message/)[\w.+-]{1,100}/[\w.+-]{1,100}", re.ASCII)
# Python's parser of headers takes quadratic time.
_MAX_FIELD_CHARACTERS = 1_000


def read_attachments(content: bytes, *, limit: int, depth: int) -> list[EmailMessage]:
    """Return the attachments of a message.

    Args:
        content: The message's file.
        limit: The maximum number of attachments of a message. Further ones have only a name.
        depth: How many messages within messages are read. The attachments of the lowest ones have only a name.

    Raises:
        One of DAMAGES: If the file is damaged.
    """
    with olefile.OleFileIO(io.BytesIO(content)) as file:
        # Streams may overlap in a file that was made for it: together they are not read beyond its size.
        storage = _Storage(file, file.root, limit, _Budget(len(content)), "")
        return list(_open_message(storage, _HEADER_BYTES).attachments(depth))


@dataclass(slots=True)
class _Budget:
    """How many bytes may still be read."""

    remaining: int


@dataclass(frozen=True, slots=True)
class _Storage:
    """A storage with streams of properties.

    Attributes:
        file: The compound file.
        entry: The storage's entry in the file's directory, which olefile indexed by name.
        limit: The maximum number of attachments of a message.
        budget: Shared by all storages of the file.
        codec: The encoding of texts that are not in UTF-16; empty if it is not declared.
    """

    file: olefile.OleFileIO
    entry: Any
    limit: int
    budget: _Budget
    codec: str

    def storage(self, name: str) -> "_Storage | None":
        entry = self.entry.kids_dict.get(name.lower())
        if entry is None or entry.entry_type != olefile.STGTY_STORAGE:
            return None
        return _Storage(self.file, entry, self.limit, self.budget, self.codec)

    def read(self, name: str) -> bytes:
        """Return the content of a stream; empty if it does not exist, is damaged, or exceeds what may be read."""
        entry = self.entry.kids_dict.get(name.lower())
        if entry is None or entry.entry_type != olefile.STGTY_STREAM or entry.size > self.budget.remaining:
            return b""
        self.budget.remaining -= entry.size
        with suppress(*DAMAGES):
            # Not `openstream`, which compares the name with those of all entries.
            return bytes(self.file._open(entry.isectStart, entry.size).read(entry.size))
        return b""

    def property_bytes(self, tag: int) -> bytes:
        return self.read(f"__substg1.0_{tag:04X}{_BINARY}")

    def text(self, tag: int) -> str:
        """Return a text without NUL characters, which end it or are no part of it."""
        if content := self.read(f"__substg1.0_{tag:04X}{_UNICODE}"):
            return content.decode("utf-16-le", "replace").replace("\0", "")
        content = self.read(f"__substg1.0_{tag:04X}{_TEXT}").rstrip(b"\0")
        if content and not self.codec:
            with suppress(ParseFailed):
                return decode_text(content).replace("\0", "")
        return code_page_numbers.decode(content, self.codec)

    def field(self, tag: int) -> str:
        """Return a text in one line, which a header can have."""
        return " ".join(self.text(tag).split())[:_MAX_FIELD_CHARACTERS]

    def fixed_properties(self, header_bytes: int) -> dict[tuple[int, int], int]:
        """Return (tag, type) → value of the properties whose values have a fixed size."""
        entries = self.read("__properties_version1.0")[header_bytes:]
        entries = entries[: len(entries) // _ENTRY.size * _ENTRY.size]
        return {(tag, kind): value for kind, tag, _, value in _ENTRY.iter_unpack(entries)}


@dataclass(frozen=True, slots=True)
class _Message(_Storage):
    """A message: that of the file, or one within it.

    Attributes:
        values: The properties whose values have a fixed size.
    """

    values: Mapping[tuple[int, int], int]

    def attachments(self, depth: int) -> Iterator[EmailMessage]:
        """Yield the attached files and messages in their order: those that are not read with their names only."""
        names = sorted({kid.name for kid in self.entry.kids if kid.name.startswith("__attach_version1.0_")})
        attachments = [attachment for name in names if (attachment := self.storage(name))]
        for number, attachment in enumerate(attachments):
            with suppress(*DAMAGES):
                is_read = depth > 0 and number < self.limit
                yield _as_part(attachment, depth) if is_read else _named_part(attachment)

    def as_email(self, depth: int) -> EmailMessage:
        """Return the message with its attachments. A body that exists in RTF only is left out."""
        message = EmailMessage()
        sender, address = self.field(_SENDER), self.field(_SMTP_ADDRESS) or self.field(_ADDRESS)
        date = next((value for tag in _DATES if (value := self.values.get((tag, _TIME_TYPE)))), 0)
        headers = {
            "Subject": self.field(_SUBJECT),
            "From": _format_sender(sender, address),
            "To": self.field(_TO),
            "Cc": self.field(_CC),
            "Date": _format_date(date),
        }
        for name, content in headers.items():
            with suppress(*DAMAGES):
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


def _open_message(storage: _Storage, header_bytes: int) -> _Message:
    """Return the message of a storage. Its texts have the code page that it declares, else that of the outer one."""
    values = storage.fixed_properties(header_bytes)
    declared = (values.get((tag, _INTEGER_TYPE), 0) % 2**32 for tag in _CODE_PAGES)
    codec = next(filter(None, map(code_page_numbers.find_codec, declared)), storage.codec)
    return _Message(storage.file, storage.entry, storage.limit, storage.budget, codec, values)


def _as_part(attachment: _Storage, depth: int) -> EmailMessage:
    part = EmailMessage()
    inner = attachment.storage(f"__substg1.0_{_DATA:04X}{_OBJECT}")
    is_message = inner is not None and "__properties_version1.0" in inner.entry.kids_dict
    mime_type = attachment.field(_MIME_TYPE)
    part["Content-Type"] = formats.EML if is_message else _safe_type(mime_type)
    is_hidden = attachment.fixed_properties(_ATTACHMENT_HEADER_BYTES).get((_IS_HIDDEN, _BOOLEAN_TYPE), 0)
    _set_disposition(part, attachment, "inline" if is_hidden & 1 else "attachment")
    if inner and is_message:
        part.set_payload([_open_message(inner, _INNER_HEADER_BYTES).as_email(depth - 1)])
    else:
        part.set_payload(attachment.property_bytes(_DATA))
    return part


def _named_part(attachment: _Storage) -> EmailMessage:
    part = EmailMessage()
    _set_disposition(part, attachment, "attachment")
    return part


def _set_disposition(part: EmailMessage, attachment: _Storage, disposition: str) -> None:
    names = (attachment.field(tag) for tag in (_LONG_NAME, _SHORT_NAME, _DISPLAY_NAME))
    name = next(filter(None, names), "")
    part.add_header("Content-Disposition", disposition, **({"filename": name} if name else {}))


def _format_sender(name: str, address: str) -> str:
    if "@" not in address:
        return name
    # Python formats addresses in ASCII only.
    return email.utils.formataddr((name, address)) if address.isascii() else f"{name} <{address}>"


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
