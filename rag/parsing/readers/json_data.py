"""Reads JSON and JSON Lines: kept unchanged if it is indented, otherwise with one value or record per line."""

import json

from rag.parsing.encodings.decode_text import decode_text
from rag.parsing.sandbox.limits import Limits
from rag.types import ParsedDocument

# Up to this mean line length, JSON counts as indented.
_MAX_MEAN_LINE_CHARACTERS = 200


def read(content: bytes, limits: Limits) -> ParsedDocument:
    r"""Read a JSON file so that its lines can be quoted.

    Indented JSON is kept unchanged. JSON with long lines, or with escaped characters (\u00e4), is written again:
    one value per line, and characters as they are. Invalid JSON is kept as text.
    """
    text = decode_text(content)
    if "\\u" not in text and len(text) <= _MAX_MEAN_LINE_CHARACTERS * (text.count("\n") + 1):
        return ParsedDocument(text=text)
    try:
        return ParsedDocument(text=json.dumps(json.loads(text), ensure_ascii=False, indent=1))
    except (ValueError, RecursionError):  # invalid JSON, or nested too deeply: keep it as text
        return ParsedDocument(text=text)


def read_lines(content: bytes, limits: Limits) -> ParsedDocument:
    """Read JSON Lines. Lines with escaped characters are written again with the characters as they are."""
    lines = decode_text(content).split("\n")
    return ParsedDocument(text="\n".join(_unescaped(line) if "\\u" in line else line for line in lines))


def _unescaped(line: str) -> str:
    try:
        return json.dumps(json.loads(line), ensure_ascii=False)
    except (ValueError, RecursionError):
        return line
