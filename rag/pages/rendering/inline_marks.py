"""Inline marks of Markdown in an answer: code, emphasis, links and escaped characters."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from .direction_controls import show_controls

_CODE = re.compile(r"`([^`\n]+)`")
_STRONG = re.compile(r"\*\*(?=\S)([^*\n]+)(?<=\S)\*\*")
_EMPHASIS = re.compile(
    r"(?<![\w*\\])[*](?=[^\s*])([^*\n]{1,300})(?<=[^\s*\\])[*](?![\w*])"
    r"|(?<![\w\\/.:-])_(?=[^\s_])([^_\n]{1,300})(?<=[^\s_\\])_(?![\w/])"
)
# Nobody is led to an address that a document or a language model wrote: it is shown, and not a link.
_LINK = re.compile(r"(?<!!)\[([^\[\]\n]{1,300})\]\((https?://[^()\s]{1,1000})(?:\s\"[^\"\n]{0,300}\")?\)")
_ESCAPED = re.compile(r"\\([*_\[\]#|<>~])")


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of an answer: text, or the link of a citation. `url` is empty if the passage does not exist any more."""

    text: str
    number: int | None = None
    url: str = ""
    label: str = ""
    is_code: bool = False
    is_strong: bool = False
    is_emphasis: bool = False


def code_segment(text: str) -> Segment:
    """Return a part of an answer that is code."""
    return Segment(show_controls(text), is_code=True)


def split_marks(text: str) -> Iterator[Segment]:
    """Split a text without citation markers at its code and what is emphasised. Links become text and address."""
    for code_number, part in enumerate(_CODE.split(text)):
        if code_number % 2 == 1:
            yield code_segment(part)
            continue
        for number, piece in enumerate(_STRONG.split(_LINK.sub(_show_link, part))):
            if number % 2 == 1:
                yield Segment(_ESCAPED.sub(r"\1", piece), is_strong=True)
            else:
                yield from _emphasised_segments(piece)


def _show_link(link: re.Match[str]) -> str:
    return link[2] if link[1].strip() == link[2] else f"{link[1].strip()} ({link[2]})"


def _emphasised_segments(text: str) -> Iterator[Segment]:
    position = 0
    for emphasis in _EMPHASIS.finditer(text):
        if emphasis.start() > position:
            yield Segment(_ESCAPED.sub(r"\1", text[position : emphasis.start()]))
        yield Segment(_ESCAPED.sub(r"\1", emphasis[1] or emphasis[2]), is_emphasis=True)
        position = emphasis.end()
    if position < len(text):
        yield Segment(_ESCAPED.sub(r"\1", text[position:]))
