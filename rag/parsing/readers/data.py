"""JSON: kept as it was written where it was written for reading; else written anew, a value to a line."""

import json

from rag.parsing import encodings
from rag.parsing.sandbox.limits import Limits
from rag.types import ParsedDocument

# The mean length of lines up to which a text was written for reading.
_LINE = 200


def read(content: bytes, limits: Limits) -> ParsedDocument:
    text = encodings.decode_text(content)
    if "\\u" not in text and len(text) <= _LINE * (text.count("\n") + 1):
        return ParsedDocument(text=text)
    try:
        return ParsedDocument(text=json.dumps(json.loads(text), ensure_ascii=False, indent=1))
    except (ValueError, RecursionError):  # not quite JSON, or nested without end: text all the same
        return ParsedDocument(text=text)
