"""Subtitles (WebVTT, SubRip): the cues joined to a transcript, without times and numbers."""

import html
import re
from collections.abc import Iterator

from rag.parsing import encodings
from rag.parsing.sandbox.limits import Limits
from rag.types import ParsedDocument

_BLANK = re.compile(r"\n[ \t]*\n")
_VOICE = re.compile(r"<v(?:\.[^\s>]*)?\s+([^>]{1,200})>", re.I)
_TAG = re.compile(r"</?[A-Za-z0-9.:][^<>]{0,200}>|\{\\[^{}]{1,50}\}")
# A paragraph of one speaker ends at the first full stop after so many characters.
_PARAGRAPH = 500
_SENTENCE_END = (".", "!", "?", "…", "。", "！", "？")


def read(content: bytes, limits: Limits) -> ParsedDocument:
    paragraphs: list[str] = []
    speaking = last = ""
    for speaker, line in _lines(encodings.decode_text(content)):
        if line == last and speaker in ("", speaking):  # rolling captions repeat the line before
            continue
        full = bool(paragraphs) and len(paragraphs[-1]) > _PARAGRAPH and paragraphs[-1].endswith(_SENTENCE_END)
        if not paragraphs or (speaker and speaker != speaking) or full:
            paragraphs.append(f"{speaker}: {line}" if speaker and speaker != speaking else line)
        else:
            paragraphs[-1] += " " + line
        speaking, last = speaker or speaking, line
    return ParsedDocument(text="\n\n".join(paragraphs))


def _lines(text: str) -> Iterator[tuple[str, str]]:
    """Speaker (empty: as before) and words of every line of every cue."""
    for block in _BLANK.split(text.replace("\r\n", "\n").replace("\r", "\n")):
        lines = block.strip("\n").split("\n")
        timing = next((number for number, line in enumerate(lines[:2]) if "-->" in line), None)
        if timing is None:  # the header, notes, styles and regions
            continue
        for line in lines[timing + 1 :]:
            voice = _VOICE.search(line)
            words = " ".join(html.unescape(_TAG.sub("", line)).split())
            if words:
                yield (" ".join(html.unescape(voice.group(1)).split()) if voice else ""), words
