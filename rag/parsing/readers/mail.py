"""E-mail: subject, sender, recipients, date, body and the names of attachments. The subject is the title."""

import email
import email.policy
import re
from dataclasses import replace
from email.message import EmailMessage

from rag.errors import ParseFailed
from rag.parsing import encodings, formats
from rag.parsing.sandbox.limits import Limits
from rag.types import ParsedDocument

from . import web
from .extraction import extract, strip_formatting

_HEADER_FIELDS = ("From", "To", "Cc", "Date")
_MAX_FIELD_CHARACTERS = 10_000


def read_eml(content: bytes, limits: Limits) -> ParsedDocument:
    """Read a message in MIME format (.eml, RFC 5322)."""
    message = email.message_from_bytes(content, policy=email.policy.default)
    if not isinstance(message, EmailMessage) or not message.keys():
        raise ParseFailed("The e-mail is damaged or cut off: it has no headers. Save it again and send that.")
    subject = _field(message, "Subject")
    header = [f"{name}: {value}" for name in ("Subject", *_HEADER_FIELDS) if (value := _field(message, name))]
    body = _body(message, limits)
    names = [name for part in message.walk() if (name := _file_name(part))]
    attachments = f"Attachments: {', '.join(names)}" if names else ""
    return _join(subject, "\n".join(header), body, attachments)


def read_msg(content: bytes, limits: Limits) -> ParsedDocument:
    """Read a message in Outlook's format (.msg)."""
    extracted = extract(content, formats.MSG, limits)
    text = strip_formatting(extracted.markdown).strip()
    subject = re.match(r"Subject\s*: *([^\n]+)", text)
    return ParsedDocument(text=text, title=extracted.title or (subject.group(1).strip() if subject else ""))


def _join(title: str, header: str, body: ParsedDocument, attachments: str) -> ParsedDocument:
    prefix = header + "\n\n" if header else ""
    text = prefix + body.text + ("\n\n" + attachments if attachments else "")
    headings = tuple(replace(heading, start=heading.start + len(prefix)) for heading in body.headings)
    return ParsedDocument(text, body.is_markdown, headings, (), title)


def _field(message: EmailMessage, name: str) -> str:
    try:
        value = str(message.get(name, ""))
    except (
        ValueError,
        IndexError,
        AttributeError,
        TypeError,
        LookupError,
    ):  # the standard library rejects malformed headers
        value = str(dict(message.raw_items()).get(name, ""))
    return " ".join(value.split())[:_MAX_FIELD_CHARACTERS]


def _body(message: EmailMessage, limits: Limits) -> ParsedDocument:
    part = message.get_body(preferencelist=("plain", "html"))
    if part is None:
        return ParsedDocument(text="")
    content = part.get_payload(decode=True)
    text = _decode(content if isinstance(content, bytes) else b"", part.get_content_charset())
    if part.get_content_subtype() == "html":
        return web.parse_html(text, limits)
    return ParsedDocument(text=text.replace("\r\n", "\n").strip())


def _decode(content: bytes, charset: str | None) -> str:
    try:
        return content.decode(charset or "utf-8")
    except (LookupError, UnicodeDecodeError, ValueError):
        return encodings.decode_text(content)


def _file_name(part: object) -> str:
    try:
        name = part.get_filename() if isinstance(part, EmailMessage) else ""
    except (ValueError, LookupError, TypeError):
        return ""
    return " ".join((name or "").split())[:200]
