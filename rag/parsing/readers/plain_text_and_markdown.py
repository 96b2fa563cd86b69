"""Plain text, also that of types without a reader of their own, and Markdown.

Only attachments and files in legacy encodings come here: rag.parsing.parse parses other text without the sandbox.
"""

from rag.parsing import plain_text
from rag.parsing.encodings.decode_text import decode_text
from rag.parsing.parse_markdown import parse_markdown
from rag.parsing.sandbox.limits import Limits
from rag.types import ParsedDocument


def read(content: bytes, limits: Limits) -> ParsedDocument:
    """Read plain text."""
    return plain_text.parse_plain(decode_text(content))


def read_markup(content: bytes, limits: Limits, media_type: str) -> ParsedDocument:
    """Read a text in another markup language."""
    return plain_text.parse_markup(decode_text(content), media_type)


def read_markdown(content: bytes, limits: Limits) -> ParsedDocument:
    """Read Markdown."""
    return parse_markdown(decode_text(content))
