"""The numbers of lists in rich text files (RTF), which are stored as text for programs that cannot count."""

import re
from collections.abc import Callable

from .labels import MARK, Label

# The label of a paragraph: of Word 97 and later, and of earlier programs such as WordPad.
_GROUP = re.compile(
    rb"\{\\(listtext|pntext)(?![a-z])([^{}]{0,500}(?:\{[^{}]{0,200}\}[^{}]{0,200}){0,5})\}"
    # Word may end a group here, and say again what the paragraph is: to xberg, that is another one.
    rb"(\}\s{0,2}\\pard(?![a-z])(?:\s{0,2}\\[a-z]{1,32}+-?\d{0,9}+ ?+){0,40}+)?"
)
_CIRCLE = "o"  # a bullet of Courier
# How deep xberg indents the items of a list within a list, and how deep they are below "1. ".
_INDENT, _SHOWN_INDENT = 2, "   "
_MARK, _END = MARK, "\ue92d"
_LINE = re.compile(
    rf"(?P<indent>[ \t]*)(?:(?:[-+*]|\d{{1,9}}\.)[ \t]+){{0,9}}(?P<bold>\*\*)?"
    rf"{_MARK}(?P<label>[^{_END}\n]{{1,80}}){_END}[ \t]*(?P<text>[^\n]*)"
)
_BOLD = re.compile(r"\*\*([^*\n]+)\*\*")


def write_labels(content: bytes, decode: Callable[[bytes], str]) -> bytes:
    """Return the file with the labels of paragraphs as part of their text.

    Args:
        content: The file.
        decode: Returns the text of a part of the file.
    """

    def write(group: re.Match[bytes]) -> bytes:
        label = " ".join(decode(group[2]).split())
        behind = group[3] or b""
        if label != _CIRCLE and any(map(str.isalnum, label)):
            return behind + _encode(f"{_MARK}{label}{_END}")
        return behind if group[1] == b"listtext" else behind + _encode(f"{_MARK}-{_END}")

    return _GROUP.sub(write, content)


def place_labels(markdown: str) -> str:
    """Return the Markdown of xberg with labels instead of its bullets and numbers.

    A clause, such as "2.1", is a paragraph of its own, and so is a bold line above text, which becomes a heading later.
    """
    if _MARK not in markdown:
        return markdown
    lines = [(line, not number) for block in markdown.split("\n\n") for number, line in enumerate(block.split("\n"))]
    matches = [_LINE.fullmatch(line) for line, _ in lines]
    text, is_above_list, is_clause_above, outer = "", False, False, 0
    for (line, is_first), match, following in zip(lines, matches, [*matches[1:], None], strict=True):
        is_item = bool(match and (match["label"] == "-" or Label(match["label"], 0).is_item))
        bold = _BOLD.fullmatch(f"{match['bold'] or ''}{match['text']}") if match else None
        if match and bold and not following:
            line, is_item = f"**{match['label']} {bold[1]}**", False
        elif match:
            depth = len(match["indent"]) // _INDENT
            outer = min(outer, depth) if is_above_list else depth
            indent = _SHOWN_INDENT * (depth - outer) if is_item else ""
            line = f"{indent}{match['bold'] or ''}{match['label']} {match['text']}"
        is_clause = match is not None and not is_item
        is_close = (is_item and is_above_list) if is_first else not (is_clause or is_clause_above)
        text += ("\n" if is_close else "\n\n") + line
        is_above_list, is_clause_above = is_item, is_clause
    return text[2:].replace(_MARK, "").replace(_END, "")


def _encode(text: str) -> bytes:
    """Return a text as RTF: 16 bits of each character that is not one of ASCII."""
    parts = (
        character
        if character.isascii()
        else f"\\u{ord(character) - 2**16 if ord(character) >= 2**15 else ord(character)}?"
        for character in text
        if character not in "\\{}" and ord(character) < 2**16
    )
    return f"{{{''.join(parts)} }}".encode()
