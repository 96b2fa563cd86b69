"""Subtitles (WebVTT, SubRip, TTML and others): cues are joined to a transcript without times and numbers."""

import html
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from lxml import etree

from rag.errors import ParseFailed
from rag.parsing.encodings.decode_text import decode_text
from rag.parsing.sandbox.limits import Limits
from rag.types import ParsedDocument

_BLANK = re.compile(r"\n[ \t]*\n")
_VOICE = re.compile(r"<v(?:\.[^\s>]*)?\s+([^>]{1,200})>", re.I)
_TAG = re.compile(r"</?[A-Za-z0-9.:][^<>]{0,200}>|\{\\[^{}]{1,50}\}")
_TIMES = re.compile(r"\d{1,2}(?::\d\d){2}\.\d{3},\d{1,2}(?::\d\d){2}\.\d{3}")
_SCRIPT_TITLE = re.compile(r"^Title:[ \t]*([^\r\n]{1,200})", re.M)
_SCRIPT_BREAK = re.compile(r"\\[Nnh]")
_SPACES = re.compile(r"\s+")
_ID = "{http://www.w3.org/XML/1998/namespace}id"
# A paragraph of one speaker ends with the first sentence that ends after this many characters.
_PARAGRAPH_CHARACTERS = 500
_SENTENCE_END = (".", "!", "?", "…", "。", "！", "？")


def read(content: bytes, limits: Limits) -> ParsedDocument:
    """Read a WebVTT or SubRip file, or one of YouTube (SubViewer)."""
    return _transcript(_speaker_lines(decode_text(content)))


def read_timed_text(content: bytes, limits: Limits) -> ParsedDocument:
    """Read a TTML file, formerly DFXP (W3C, Timed Text Markup Language 2).

    Raises:
        ParseFailed: If the file is damaged.
    """
    parser = etree.XMLParser(encoding="utf-8", resolve_entities=False, no_network=True, load_dtd=False)
    try:
        root = etree.fromstring(decode_text(content).encode(), parser)
    except etree.XMLSyntaxError:
        raise ParseFailed("The file of subtitles is damaged or cut off. Save it again and send that.") from None
    title = next((element for element in root.iter("{*}title") if element.text), None)
    parsed = _transcript(_timed_lines(root))
    return replace(parsed, title="" if title is None else " ".join((title.text or "").split()))


def read_script(content: bytes, limits: Limits) -> ParsedDocument:
    """Read a file of SubStation Alpha, which Aegisub writes."""
    text = decode_text(content)
    title = _SCRIPT_TITLE.search(text)
    return replace(_transcript(_script_lines(text)), title=title[1].strip() if title else "")


def _transcript(lines: Iterable[tuple[str, str]]) -> ParsedDocument:
    """Join lines with their speakers to paragraphs. The speaker is empty if it has not changed."""
    paragraphs: list[str] = []
    current_speaker = last_line = ""
    for speaker, line in lines:
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
        timing = next(
            (number for number, line in enumerate(lines[:2]) if "-->" in line or _TIMES.fullmatch(line.strip())), None
        )
        if timing is None:  # header, notes, styles and regions
            continue
        for line in lines[timing + 1 :]:
            voice = _VOICE.search(line)
            words = " ".join(html.unescape(_TAG.sub("", line)).split())
            if words:
                yield (" ".join(html.unescape(voice.group(1)).split()) if voice else ""), words


def _script_lines(text: str) -> Iterator[tuple[str, str]]:
    names = list[str]()
    for line in text.splitlines():
        kind, _, rest = line.partition(":")
        if kind == "Format":  # the last one is that of the events
            names = [name.strip().lower() for name in rest.split(",")]
        elif kind == "Dialogue" and names:
            fields = dict(zip(names, rest.split(",", len(names) - 1), strict=False))
            for part in _SCRIPT_BREAK.split(_TAG.sub("", fields.get("text", ""))):
                if words := " ".join(part.split()):
                    yield fields.get("name", fields.get("actor", "")).strip(), words


def _timed_lines(root: etree._Element) -> Iterator[tuple[str, str]]:
    names = {
        agent.get(_ID, ""): " ".join(" ".join(name.text or "" for name in agent.iter("{*}name")).split())
        for agent in root.iter("{*}agent")
    }
    for paragraph in root.iter("{*}p"):
        speaker = next((value for name, value in paragraph.attrib.items() if str(name).endswith("}agent")), "")
        for line in _text(paragraph).split("\n"):
            if words := " ".join(line.split()):
                yield names.get(str(speaker), ""), words


def _text(element: etree._Element) -> str:
    """Return the text of a cue, without what only describes it."""
    parts = [_SPACES.sub(" ", element.text or "")]
    for child in element:
        name = etree.QName(child).localname if isinstance(child.tag, str) else ""
        if name == "br":
            parts.append("\n")
        elif name == "span":
            parts.append(_text(child))
        parts.append(_SPACES.sub(" ", child.tail or ""))
    return "".join(parts)
