"""Step: Parsed → chunks, bounded in OpenAI tokens, cut at headings, paragraphs and sentences where possible.

Our own, in time linear in the text: a splitter library that does this well on prose took minutes on 50 KB of line ends
or unbroken CJK, which any client may send (docs/decisions/0016-own-chunker.md).
"""

import bisect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from rag.text.tokens import count_tokens
from rag.text.words import SENTENCE_END
from rag.types import ChunkDraft, ChunkingOptions, Heading, Page, ParsedDocument

# A stretch is kept whole up to this share of a chunk: a heading has to fit above it.
_WHOLE = 3 / 4
# How good a place for a cut is: at the start of a heading, a paragraph, a line, a sentence, a word.
_HEADING, _PARAGRAPH, _LINE, _SENTENCE, _WORD = 4, 3, 2, 1, 0
# A chunk is ended at a good place only when it is this full; a new heading is reason enough much earlier.
_FULL_ENOUGH = 1 / 2
_ENOUGH_FOR_A_SECTION = 1 / 8

# Characters that are cut into lines at a time.
_BLOCK = 1024 * 1024

_FENCE = re.compile(r" {0,3}(```|~~~)")


@dataclass(frozen=True, slots=True)
class _Unit:
    """A stretch that is kept whole: text[start:end] with the white space after it. level: how good its start is."""

    start: int
    end: int
    level: int
    tokens: int


def chunk(parsed: ParsedDocument, options: ChunkingOptions) -> Iterator[ChunkDraft]:
    """Chunks in reading order; none for a text of white space. Each has at most `options.size` tokens.

    Neighbours share up to `options.overlap` tokens, in whole sentences or else words, but never across a heading.
    """
    text = parsed.text
    ahead = _units(parsed, options.size)
    units: list[_Unit] = []
    headings = _HeadingPath(parsed.headings)
    pages = _PageNumbers(parsed.pages)
    position = first = 0
    _read_ahead(units, first, ahead, options.size)
    start = units[0].start if units else 0
    while first < len(units):
        if text[start : units[first].end].isspace():  # nothing that a chunk could begin with
            first += 1
            _read_ahead(units, first, ahead, options.size)
            start = units[first].start if first < len(units) else len(text)
            continue
        last = _best_cut(units, first, options.size, count_tokens(text[start : units[first].start]))
        start, last, tokens = _fit(text, units, start, first, last, options.size)
        stripped = text[start : units[last - 1].end].rstrip()
        end = start + len(stripped)
        yield ChunkDraft(position, start, end, stripped, headings.at(start), tokens, pages.between(start, end))
        position += 1
        while first and units[0].end <= start:  # an overlap reaches back into this chunk, and not further
            del units[0]
            first, last = first - 1, last - 1
        first = last
        _read_ahead(units, first, ahead, options.size)
        if first < len(units):
            start = _overlap_start(text, units, start, first, options.overlap)


def _read_ahead(units: list["_Unit"], first: int, ahead: Iterator["_Unit"], size: int) -> None:
    """As many units from `first` on as a chunk can hold, and one more: a long text has millions."""
    tokens = sum(unit.tokens for unit in units[first:])
    while tokens <= size or len(units) - first < 2:
        unit = next(ahead, None)
        if unit is None:
            return
        units.append(unit)
        tokens += unit.tokens


def _units(parsed: ParsedDocument, size: int) -> Iterator[_Unit]:
    """The whole text but its leading white space, in units of less than `size` tokens."""
    text = parsed.text
    for start, end, level in _lines(parsed):
        if unit := _whole(text, start, end, level, size):
            yield unit
            continue
        for sentence, sentence_end in pairwise([start, *_sentence_ends(text, start, end), end]):
            sentence_level = level if sentence == start else _SENTENCE
            if unit := _whole(text, sentence, sentence_end, sentence_level, size):
                yield unit
                continue
            for word, word_end in _words(text, sentence, sentence_end, size):
                word_level = sentence_level if word == sentence else _WORD
                yield _Unit(word, word_end, word_level, count_tokens(text[word:word_end]))


def _whole(text: str, start: int, end: int, level: int, size: int) -> _Unit | None:
    """The stretch as one unit, if it is small enough. What is very long is not even counted: that costs, too."""
    if end - start > 16 * size:
        return None
    whole = text[start:end]
    # Without the white space after it, a text may have a token more: "<>();\n" is one, "<>();" are two.
    tokens = max(count_tokens(whole), count_tokens(whole.rstrip()))
    return _Unit(start, end, level, tokens) if tokens <= size * _WHOLE else None


def _lines(parsed: ParsedDocument) -> Iterator[tuple[int, int, int]]:
    """(start, end, level) of each line that is not blank; blank lines belong to the line before."""
    text = parsed.text
    heading_starts = {heading.start for heading in parsed.headings}
    opened: tuple[int, int] | None = None  # start and level of the line that is not closed yet
    level, fenced, offset = _PARAGRAPH, False, 0
    for line in _split(text):
        if line.isspace():
            level = _PARAGRAPH
        else:
            if opened:
                yield opened[0], offset, opened[1]
            if parsed.is_markdown and _FENCE.match(line):
                fenced = not fenced
            best = _HEADING if offset in heading_starts else min(level, _SENTENCE) if fenced else level
            opened, level = (offset, best), _LINE
        offset += len(line)
    if opened:
        yield opened[0], offset, opened[1]


def _split(text: str) -> Iterator[str]:
    """As str.splitlines(keepends=True), without a second copy of a whole long text."""
    start = 0
    while start < len(text):
        end = text.find("\n", start + _BLOCK) + 1 or len(text)
        yield from text[start:end].splitlines(keepends=True)
        start = end


def _sentence_ends(text: str, start: int, end: int) -> list[int]:
    return [match.end() for match in SENTENCE_END.finditer(text, start, end) if start < match.end() < end]


def _words(text: str, start: int, end: int, size: int) -> Iterator[tuple[int, int]]:
    """Words with the white space after them, the longest in pieces of at most `size` tokens (a character has ≤ 4)."""
    most = max(1, size // 8)
    word = re.compile(rf"\S{{1,{most}}}+\s{{0,{most}}}+|\s{{1,{most}}}+")
    return (match.span() for match in word.finditer(text, start, end))


def _best_cut(units: list[_Unit], first: int, size: int, used: int) -> int:
    """Where the chunk that begins with unit `first` ends (exclusive). used: tokens it shares with the one before."""
    best = first + 1
    best_level = -1
    filled = used + units[first].tokens
    for index in range(first + 1, len(units)):
        unit = units[index]
        if unit.level == _HEADING and filled >= size * _ENOUGH_FOR_A_SECTION:
            return index
        if filled >= size * _FULL_ENOUGH and unit.level >= best_level:
            best, best_level = index, unit.level
        filled += unit.tokens
        if filled > size:
            return best if best_level >= 0 else index
    return len(units)


def _fit(text: str, units: list[_Unit], start: int, first: int, last: int, size: int) -> tuple[int, int, int]:
    """start and last, moved together until the text between them has at most `size` tokens; and their number.

    The tokens of a whole are nearly, not exactly, the sum of its parts'.
    """
    while (tokens := count_tokens(text[start : units[last - 1].end].rstrip())) > size:
        if last - first > 1:
            last = first + max(1, min(last - first - 1, (last - first) * size // tokens))
        elif start < units[first].start:
            start = units[first].start  # without what it shares with the chunk before
        else:
            raise AssertionError("a unit alone fits: _whole and _words see to it")
    return start, last, tokens


def _overlap_start(text: str, units: list[_Unit], start: int, first: int, overlap: int) -> int:
    """Where the chunk of unit `first` begins: up to `overlap` tokens earlier, but later than the chunk before did."""
    if units[first].level == _HEADING or not overlap:
        return units[first].start
    begin, room = first, overlap
    while units[begin - 1].start > start and units[begin - 1].tokens <= room:
        begin -= 1
        room -= units[begin].tokens
    if begin < first:
        return units[begin].start
    words = list(_words(text, max(start + 1, units[first - 1].start), units[first].start, 4 * overlap))
    found = units[first].start
    for word, word_end in reversed(words[1:]):
        room -= count_tokens(text[word:word_end])
        if room < 0:
            break
        found = word
    return found


class _PageNumbers:
    def __init__(self, pages: tuple[Page, ...]) -> None:
        self._starts = [page.start for page in pages]
        self._numbers = [page.number for page in pages]

    def between(self, start: int, end: int) -> tuple[int, int] | None:
        """The pages of the first and of the last character of text[start:end]."""
        if not self._starts:
            return None
        return self._at(start), self._at(end - 1)

    def _at(self, offset: int) -> int:
        return self._numbers[max(0, bisect.bisect_right(self._starts, offset) - 1)]


class _HeadingPath:
    """The headings that stand over an offset, outermost first. Asked with rising offsets, it walks the text once."""

    def __init__(self, headings: tuple[Heading, ...]) -> None:
        self._ahead = iter(headings)
        self._next = next(self._ahead, None)
        self._path: list[Heading] = []

    def at(self, offset: int) -> tuple[str, ...]:
        while self._next is not None and self._next.start <= offset:
            level = self._next.level
            self._path = [*(above for above in self._path if above.level < level), self._next]
            self._next = next(self._ahead, None)
        return tuple(heading.title for heading in self._path)
