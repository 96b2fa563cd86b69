"""What of a text can be quoted as it stands: sentences, items of lists, rows of tables, lines of code, by offset."""

import enum
import re
from collections.abc import Iterator
from dataclasses import dataclass

from . import languages


class UnitKind(enum.Enum):
    SENTENCE = "sentence"
    ITEM = "item"
    ROW = "row"
    CODE = "code"
    HEADING = "heading"
    RULE = "rule"  # fences, lines across the page, the line under a table's head


@dataclass(frozen=True, slots=True)
class TextUnit:
    """text[start:end] of the text it was found in, without white space around it. run: pieces of one paragraph, list,
    table or stretch of code have the same number."""

    kind: UnitKind
    start: int
    end: int
    run: int


@dataclass(frozen=True, slots=True)
class _Line:
    kind: UnitKind
    start: int
    end: int

    @property
    def length(self) -> int:
        return self.end - self.start


_FENCE = re.compile(r"```|~~~")
_RULE = re.compile(r"[-=*_~`|:+ \t]+")
_HEADING = re.compile(r"#{1,6}\s")
_ITEM = re.compile(r"(?:[-*+•‣◦–]|\(?(?:\d{1,3}|[a-zA-Z])[.)])\s+\S")
_ROW = re.compile(r"\||[^|]*\|[^|]*\||[^\t]*\S\t+\S")
_CODE = re.compile(
    r"(?:def|class|import|return|async|elif|except|function|const|let|var|public|private|protected|static|func|fn|pub"
    r"|package|struct|enum|interface)\s+\S.*[:;{(),]?$|from \S+ import |(?:else|try|finally):$|@\w+|//|/\*|\*/|#include"
    r"|[\])}]++[;,)]*+$|[\w.\[\]\"']+\s*[-+*/|&]?=\s*\S|[\w.]+\(.*\)?[;{:,]?$"
)
_CODE_END = re.compile(r"[{;]$|^\S.*\):$")
# Of the lines of a text, how many look like code for `#` to begin a comment instead of a heading.
_IS_CODE = 0.5
# A line that was broken because it was full has this many characters at least, or the next goes on in small letters.
_FULL_LINE, _BROKEN_LINE = 45, 20
_NARROWER = 0.85

_END = re.compile(r"(?<![.!?])[.!?]++[\"'”’»)\]]*+(?P<notes>(?:\[\d{1,3}\])*+)(?=\s)|[。！？]++[」』”’）]*+")
_NOTES = re.compile(r"(?:\[\d{1,3}\])+$")
_LAST_WORD = re.compile(r"(?:[^\W\d_]\.)*[^\W_]+$")
_ABBREVIATIONS = re.compile(
    r"(?:dr|mr|mrs|ms|prof|st|no|nos|fig|figs|eq|sec|ch|vol|pp|al|inc|ltd|co|corp|jr|sr|vs|cf|approx|dept|est|gen|gov|hon"
    r"|rev|e\.g|i\.e|nr|abs|art|bd|bzw|ca|evtl|ggf|inkl|sog|str|usw|vgl|z\.b|u\.a|d\.h|mme|mlle|av|sra|srta|núm|dott|pag"
    r"|bijv|blz)",
    re.IGNORECASE,
)


def split_units(text: str, lang: str = "") -> list[TextUnit]:
    """In reading order; together they have every character that is no white space, but for the marks of notes ([3])
    behind a sentence. Lines that a paragraph was broken into are one text again; a row, an item's marker and a line of
    code are never cut."""
    found: list[TextUnit] = []
    for run, lines in enumerate(_runs(_lines(text))):
        if lines[0].kind in (UnitKind.SENTENCE, UnitKind.ITEM):
            for first, last in _unbroken(text, lines):
                spans = _sentences(text, first.start, last.end, lang)
                found += [TextUnit(first.kind, start, end, run) for start, end in spans]
        else:
            found += [TextUnit(line.kind, line.start, line.end, run) for line in lines]
    return found


def _lines(text: str) -> list[_Line | None]:
    """None for an empty one."""
    spans = []
    offset = 0
    for line in text.splitlines(keepends=True):
        start = offset + len(line) - len(line.lstrip())
        spans.append((start, max(start, offset + len(line.rstrip()))))
        offset += len(line)
    shown = [text[start:end] for start, end in spans]
    looks_like_code = [bool(_CODE.match(line) or _CODE_END.search(line[-200:])) for line in shown]
    is_code = sum(looks_like_code) > _IS_CODE * sum(map(bool, shown))
    fenced = False
    found: list[_Line | None] = []
    for (start, end), line, code in zip(spans, shown, looks_like_code, strict=True):
        fence = bool(_FENCE.match(line))
        fenced ^= fence
        kind = UnitKind.RULE if fence else UnitKind.CODE if fenced or (code and is_code) else _kind(line, is_code)
        found.append(_Line(kind, start, end) if line else None)
    return found


def _kind(line: str, is_code: bool) -> UnitKind:
    if _RULE.fullmatch(line):
        return UnitKind.RULE
    if line.startswith("#"):
        return UnitKind.CODE if is_code else UnitKind.HEADING if _HEADING.match(line) else UnitKind.SENTENCE
    if _ROW.match(line):
        return UnitKind.ROW
    return UnitKind.ITEM if _ITEM.match(line) else UnitKind.SENTENCE


def _runs(lines: list[_Line | None]) -> Iterator[list[_Line]]:
    """Lines of one kind that follow each other. An item's second line is no other paragraph."""
    run: list[_Line] = []
    for line in lines:
        goes_on = line and run and (line.kind is run[-1].kind or (run[0].kind, line.kind) == (UnitKind.ITEM, UnitKind.SENTENCE))
        # The line under a table's head is in the table.
        goes_on = goes_on or (line and run and {line.kind, run[-1].kind} == {UnitKind.ROW, UnitKind.RULE})
        if run and not goes_on:
            yield run
            run = []
        if line:
            run.append(line)
    if run:
        yield run


def _unbroken(text: str, lines: list[_Line]) -> Iterator[tuple[_Line, _Line]]:
    """First and last line of each paragraph or item: a line is broken where the next one's first word had no room."""
    widest = max(line.length for line in lines)
    first = lines[0]
    for line, following in zip(lines, [*lines[1:], None], strict=True):
        if following is None:
            yield first, line
        elif following.kind is UnitKind.ITEM or not _is_broken(text, line, following, widest):
            yield first, line
            first = following


def _is_broken(text: str, line: _Line, following: _Line, widest: int) -> bool:
    if line.length >= _BROKEN_LINE and text[following.start].islower():
        return True
    word = len(text[following.start : min(following.end, following.start + 50)].split(None, 1)[0])
    return line.length >= _FULL_LINE and line.length + 1 + word > _NARROWER * widest


def _sentences(text: str, start: int, end: int, lang: str) -> Iterator[tuple[int, int]]:
    is_english = (languages.snowball_algorithm(lang) or "english") == "english"
    begun = start
    for match in _END.finditer(text, start, end):
        if _goes_on(text, match, end, is_english):
            continue
        yield begun, match.start("notes") if match["notes"] else match.end()
        begun = match.end()
        while begun < end and text[begun].isspace():
            begun += 1
    notes = _NOTES.search(text, max(begun, end - 50), end)
    if begun < end and (last := notes.start() if notes else end) > begun:
        yield begun, last


def _goes_on(text: str, mark: re.Match[str], end: int, is_english: bool) -> bool:
    """Whether the mark ends no sentence: before a small letter, after an initial, in `Dr. Who`."""
    rest = text[mark.end() : min(end, mark.end() + 20)].lstrip()
    if rest and rest[0].islower():
        return True
    word = _LAST_WORD.search(text, max(0, mark.start() - 12), mark.start()) if mark.group() == "." else None
    if word is None:
        return False
    written = word.group()
    if written.isdigit():  # the 3rd of October: am 3. Oktober
        return not is_english and len(written) <= 2
    return bool(_ABBREVIATIONS.fullmatch(written)) or (len(written) == 1 and written.isupper())
