"""Text and Markdown in an older encoding: the registry keeps the Unicode ones to itself."""

from rag.parsing import encodings, markdown, text
from rag.parsing.sandbox.limits import Limits
from rag.types import ParsedDocument


def read(content: bytes, limits: Limits) -> ParsedDocument:
    return text.parse_plain(encodings.decode_text(content))


def read_markdown(content: bytes, limits: Limits) -> ParsedDocument:
    return markdown.parse_markdown(encodings.decode_text(content))
