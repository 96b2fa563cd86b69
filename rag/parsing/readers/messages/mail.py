"""E-mail: subject, sender, recipients, date, body and the texts of attachments. The subject is the title."""

import email.policy
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from email.feedparser import BytesFeedParser
from email.message import EmailMessage, Message

from rag.errors import ParseFailed, RagError
from rag.parsing import container_formats, detection, formats
from rag.parsing.encodings.decode_text import decode_text
from rag.parsing.readers.extracted_markdown import strip_formatting
from rag.parsing.readers.web import read_web
from rag.parsing.readers.xberg_adapter import extract
from rag.parsing.sandbox.limits import Limits
from rag.types import ParsedDocument

from . import outlook, signed_content
from .attachments import MAX_ATTACHMENTS, fields_of_report, find_attachments
from .flowed_text import join_flowed
from .join_documents import Joiner

# Returns the reader of a MIME type. It is passed in, because the registry of readers imports this module.
GetReader = Callable[[str], Callable[[bytes, Limits], ParsedDocument]]

_HEADER_FIELDS = ("From", "To", "Cc", "Date")
_MAX_FIELD_CHARACTERS = 10_000
# As written, where a character takes up to three or more: encoded words, comments.
_MAX_HEADER_CHARACTERS = 20_000
# Messages in messages.
_MAX_DEPTH = 4
# Parts in parts. The library compares each line with the boundaries of all parts that it is in.
_MAX_OPEN_PARTS = 100
_HEAD_BYTES = 16_384
_SIGNED_TYPES = {"application/pkcs7-mime", "application/x-pkcs7-mime"}
_ENCRYPTED = "The e-mail is encrypted. Decrypt it in your e-mail program, save it and send that."
# What Apple Mail writes before a message: its length. Data of the program follow the message.
_LENGTH = re.compile(rb"(\d{1,9})[ \t]*\r?\n")
_LISTED = re.compile(r".* \([\d.]+ ?[KMG]?B\)\s*")


class _BoundedHeaders(email.policy.EmailPolicy):
    """Python's policy, whose parser of addresses takes quadratic time, for the start of each header."""

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        name, value = super().header_source_parse(sourcelines)
        return name, value[:_MAX_HEADER_CHARACTERS]


_POLICY = _BoundedHeaders()


class _BoundedParser(BytesFeedParser):
    """Python's parser, which takes quadratic time, for messages whose parts are not nested without end."""

    def _new_message(self) -> None:
        if len(self._msgstack) == _MAX_OPEN_PARTS:  # type: ignore[attr-defined]  # not in the stubs
            raise ParseFailed(f"The e-mail has more than {_MAX_OPEN_PARTS} parts within each other. Send them apart.")
        super()._new_message()  # type: ignore[misc]


def _parse(content: bytes) -> Message:
    parser = _BoundedParser(policy=_POLICY)
    parser.feed(content)
    return parser.close()


def read_eml(content: bytes, limits: Limits, *, get_reader: GetReader) -> ParsedDocument:
    """Read a message in MIME format (.eml, RFC 5322), also one that Apple Mail stored (.emlx).

    Args:
        content: The message.
        limits: For the message with all its attachments.
        get_reader: Returns the readers of attached files.

    Raises:
        ParseFailed: If the message has no headers, or too many parts within each other.
    """
    if b"\x00" in content[:100]:  # UTF-16
        content = decode_text(content).encode("utf-8", "replace")
    if length := _LENGTH.match(content):
        content = content[length.end() : length.end() + int(length[1])]
    message = _parse(content)
    if not isinstance(message, EmailMessage) or not message.keys():
        raise ParseFailed("The e-mail is damaged or cut off: it has no headers. Save it again and send that.")
    return _MessageReader(limits, get_reader).read(message, depth=0)


@dataclass(frozen=True, slots=True)
class _MessageReader:
    """Reads a message, those that are attached to it, and the files of all of them."""

    limits: Limits
    get_reader: GetReader

    def read(self, message: EmailMessage, *, depth: int) -> ParsedDocument:
        subject = _field(message, "Subject")
        if message.get_content_type() == "multipart/encrypted":
            raise ParseFailed(_ENCRYPTED)
        if message.get_content_type() in _SIGNED_TYPES and depth < _MAX_DEPTH:
            return self._read_signed(message, subject, depth=depth)
        header = [f"{name}: {value}" for name in ("Subject", *_HEADER_FIELDS) if (value := _field(message, name))]
        body = _body(message, self.limits)
        return self.add_attachments(subject, "\n".join(header), body, find_attachments(message), depth=depth)

    def _read_signed(self, message: EmailMessage, subject: str, *, depth: int) -> ParsedDocument:
        """Read the message that a signed one contains, with the header of the signed one."""
        payload = message.get_payload(decode=True)
        inner = _parse(signed_content.read_signed_content(payload if isinstance(payload, bytes) else b""))
        if not isinstance(inner, EmailMessage) or not inner.keys():
            raise ParseFailed(_ENCRYPTED)
        for name, value in message.raw_items():
            if name.lower() in ("subject", "from", "to", "cc", "date") and name not in inner:
                inner[name] = value
        return self.read(inner, depth=depth + 1)

    def add_attachments(
        self, subject: str, header: str, body: ParsedDocument, attached: Sequence[EmailMessage], *, depth: int
    ) -> ParsedDocument:
        """Return the header and the body, the names of the attachments, and their texts under these names."""
        names = [name for part in attached if (name := _file_name(part))]
        attachments = f"Attachments: {', '.join(names)}" if names else ""
        joiner = Joiner(_join(subject, header, body, attachments))
        budget = MAX_ATTACHMENTS if depth < _MAX_DEPTH else 0
        for part in attached[:budget]:
            if parsed := self._read_attachment(part, depth=depth):
                joiner.add(_file_name(part) or parsed.title or "Attachment", parsed)
        return joiner.build(title=subject)

    def _read_attachment(self, part: EmailMessage, *, depth: int) -> ParsedDocument | None:
        """Return the text of an attached message or file; None if it has no text, or if it cannot be read."""
        try:
            if part.get_content_type() == "message/delivery-status":
                return ParsedDocument(fields_of_report(part))
            if part.get_content_type() == formats.EML:
                return self._read_attached_message(part.get_payload(0), depth=depth)
            return self._read_attached_file(part, depth=depth)
        except (RagError, LookupError, ValueError, AttributeError, TypeError, RecursionError):
            return None

    def _read_attached_message(self, message: object, *, depth: int) -> ParsedDocument | None:
        return self.read(message, depth=depth + 1) if isinstance(message, EmailMessage) else None

    def _read_attached_file(self, part: EmailMessage, *, depth: int) -> ParsedDocument | None:
        """Return the text of a file.

        None if it is empty, a picture within the body, or a message below the last level.
        """
        payload = part.get_payload(decode=True)
        content = payload if isinstance(payload, bytes) else b""
        if not content.strip():
            return None
        head = content[:_HEAD_BYTES]
        media_type = detection.detect_type(head, content_type=part.get_content_type(), name=_file_name(part))
        if media_type == formats.EML and depth + 1 < _MAX_DEPTH:
            return self._read_attached_message(_parse(content), depth=depth)
        is_decoration = media_type in formats.PICTURES and not part.is_attachment()  # a logo in the text
        if media_type in (formats.EML, formats.MBOX) or is_decoration:
            return None
        if (charset := part.get_content_charset()) and formats.is_text(media_type):
            content = _decode(content, charset).encode("utf-8", "replace")
        media_type = container_formats.detect_container_type(content, media_type)
        if media_type == formats.MSG:
            is_read = depth + 1 < _MAX_DEPTH
            return read_msg(content, self.limits, get_reader=self.get_reader, depth=depth + 1) if is_read else None
        return self.get_reader(media_type)(content, self.limits)


def read_msg(content: bytes, limits: Limits, *, get_reader: GetReader, depth: int = 0) -> ParsedDocument:
    """Read a message in Outlook's format (.msg).

    Args:
        content: The message.
        limits: For the message with all its attachments.
        get_reader: Returns the readers of attached files.
        depth: How many messages this one is attached to, each within the next.
    """
    extracted = extract(content, formats.MSG, limits)
    text = strip_formatting(extracted.markdown).strip()
    subject = re.match(r"Subject\s*: *([^\n]+)", text)
    title = extracted.title or (subject.group(1).strip() if subject else "")
    attached: list[EmailMessage] = []
    with suppress(*outlook.DAMAGES):
        attached = outlook.read_attachments(content, limit=MAX_ATTACHMENTS, depth=_MAX_DEPTH - depth)
    if not attached:
        return ParsedDocument(text=text, title=title)
    body = ParsedDocument(text=without_listed_attachments(text))
    return _MessageReader(limits, get_reader).add_attachments(title, "", body, attached, depth=depth)


def without_listed_attachments(text: str) -> str:
    """Return the text without the list of attachments and their sizes with which xberg ends it."""
    before, separator, listed = text.rpartition("\n\nAttachments:\n\n")
    lines = [line for line in listed.splitlines() if line.strip()]
    return before if separator and all(map(_LISTED.fullmatch, lines)) else text


def _join(title: str, header: str, body: ParsedDocument, attachments: str) -> ParsedDocument:
    prefix = header + "\n\n" if header else ""
    text = prefix + body.text + ("\n\n" + attachments if attachments else "")
    headings = tuple(replace(heading, start=heading.start + len(prefix)) for heading in body.headings)
    return ParsedDocument(text, body.is_markdown, headings, (), title)


def _field(message: EmailMessage, name: str) -> str:
    try:
        value = str(message.get(name, ""))
    except (ValueError, AttributeError, TypeError, LookupError, RecursionError):
        # Python's parser fails at malformed headers.
        value = str(dict(message.raw_items()).get(name, ""))
    return " ".join(value.split())[:_MAX_FIELD_CHARACTERS]


def _body(message: EmailMessage, limits: Limits) -> ParsedDocument:
    part = message.get_body(preferencelist=("plain", "html"))
    if part is None:
        return ParsedDocument(text="")
    content = part.get_payload(decode=True)
    text = _decode(content if isinstance(content, bytes) else b"", part.get_content_charset())
    if part.get_content_subtype() == "html":
        return read_web.parse_html(text, limits)
    text = text.replace("\r\n", "\n")
    if str(part.get_param("format", "")).lower() == "flowed":
        text = join_flowed(text, deletes_spaces=str(part.get_param("delsp", "")).lower() == "yes")
    return ParsedDocument(text=text.strip())


def _decode(content: bytes, charset: str | None) -> str:
    return decode_text(content, declared=charset or "")


def _file_name(part: object) -> str:
    try:
        name = part.get_filename() if isinstance(part, EmailMessage) else ""
    except (ValueError, LookupError, TypeError, RecursionError):
        return ""
    return " ".join((name or "").split())[:200]
