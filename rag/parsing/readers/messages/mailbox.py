"""Mailboxes (mbox, RFC 4155): the messages in their order, each with its subject as a heading."""

import re
from contextlib import suppress

from rag.errors import ParseFailed
from rag.parsing.sandbox.limits import Limits
from rag.types import ParsedDocument

from . import mail
from .join_documents import Joiner

_MESSAGE_START = re.compile(rb"(?:\A|(?<=\n))From [^\r\n]*\d\d:\d\d[^\r\n]*\r?\n(?=[!-9;-~]+:)")
_QUOTED_FROM = re.compile(rb"(?m)^>(>*From )")


def read(content: bytes, limits: Limits, *, get_reader: mail.GetReader) -> ParsedDocument:
    """Read a mailbox.

    Args:
        content: The mailbox.
        limits: For all its messages together.
        get_reader: Returns the readers of attached files.

    Raises:
        ParseFailed: If it contains no messages.
    """
    messages = [message for message in _MESSAGE_START.split(content) if message.strip()]
    joiner = Joiner()
    for message in messages:
        with suppress(ParseFailed):  # a damaged message does not hide the others
            parsed = mail.read_eml(_QUOTED_FROM.sub(rb"\1", message), limits, get_reader=get_reader)
            joiner.add(parsed.title or "Message", parsed)
    if not messages:
        raise ParseFailed("The mailbox contains no messages. Save it again and send that.")
    return joiner.build()
