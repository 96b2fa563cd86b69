"""The registered readers by MIME type. Its own module, because e-mail readers read attachments with other readers."""

from collections.abc import Callable

from rag.parsing.sandbox.limits import Limits
from rag.types import ParsedDocument

from . import plain

Reader = Callable[[bytes, Limits], ParsedDocument]

READERS: dict[str, Reader] = {}


def get_reader(media_type: str) -> Reader:
    """Return the reader of a format. A type without a reader is text, which is kept unchanged."""
    return READERS.get(media_type, plain.read)
