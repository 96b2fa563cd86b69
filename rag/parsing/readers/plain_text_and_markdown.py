"""Text and Markdown in legacy encodings. Unicode text does not need the sandbox: rag.parsing.parse parses it."""

from rag.parsing import encodings, plain_text
from rag.parsing.parse_markdown import parse_markdown
from rag.parsing.sandbox.limits import Limits
from rag.types import ParsedDocument


def read(content: bytes, limits: Limits) -> ParsedDocument:
    """Read plain text."""
    return plain_text.parse_plain(encodings.decode_text(content))


def read_markdown(content: bytes, limits: Limits) -> ParsedDocument:
    """Read Markdown."""
    return parse_markdown(encodings.decode_text(content))
