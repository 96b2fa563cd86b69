"""Subtitles (WebVTT, SubRip): cues are joined to a transcript without times and numbers."""

import html
import re
from collections.abc import Iterator

from rag.parsing.encodings.decode_text import decode_text
from rag.parsing.sandbox.limits import Limits
from rag.types import ParsedDocument

_BLANK = re.compile(r"\n[ \t]*\n")
_VOICE = re.compile(r"<v(?:\.[^\s>]*)?\s+([^>]{1,200})>", re.I)
_TAG = re.compile(r"</?[A-Za-z0-9.:][^<>]{0,200}>|\{\\[^{}]{1,50}\}")
# A paragraph of one speaker ends with the first sentence that ends after this many characters.
_PARAGRAPH_CHARACTERS = 500
_SENTENCE_END = (".", "!", "?", "…", "。", "！", "？")


def read(content: bytes, limits: Limits) -> ParsedDocument:
    """Read a WebVTT or SubRip file."""
    paragraphs: list[str] = []
    current_speaker = last_line = ""
    for speaker, line in _speaker_lines(decode_text(content)):
        if line == last_line and speaker in ("", current_speaker):  # rolling captions repeat the previous line
            continue
        is_complete = (
            bool(paragraphs) and len(paragraphs[-1]) > _PARAGRAPH_CHARACTERS and paragraphs[-1].endswith(_SENTENCE_END)
        )
        if not paragraphs or (speaker and speaker != current_speaker) or is_complete:
            paragraphs.append(f"{speaker}: {line}" if speaker and speaker != current_speaker else line)
        else:
            paragraphs[-1] += " " + line
        current_speaker, last_line = speaker or current_speaker, line
    return ParsedDocument(text="\n\n".join(paragraphs))


def _speaker_lines(text: str) -> Iterator[tuple[str, str]]:
    """Yield (speaker, text) of each line of each cue. The speaker is empty if it has not changed."""
    for block in _BLANK.split(text.replace("\r\n", "\n").replace("\r", "\n")):
        lines = block.strip("\n").split("\n")
        timing = next((number for number, line in enumerate(lines[:2]) if "-->" in line), None)
        if timing is None:  # header, notes, styles and regions
            continue
        for line in lines[timing + 1 :]:
            voice = _VOICE.search(line)
            words = " ".join(html.unescape(_TAG.sub("", line)).split())
            if words:
                yield (" ".join(html.unescape(voice.group(1)).split()) if voice else ""), words
