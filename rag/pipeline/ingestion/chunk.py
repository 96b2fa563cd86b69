"""Step: parsed document -> chunks of limited tokens, split at headings, paragraphs and sentences where possible.

Its time is linear in the length of the text. A splitter library took minutes for 50 KB of line ends or CJK without
spaces, which any client may send (docs/decisions/0016-own-chunker.md).
"""

import bisect
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from rag.text.markup.code_block_marks import closes_block, find_opening_marks
from rag.text.sentences.split_sentences import SENTENCE_END
from rag.text.token_counts import count_tokens
from rag.types import ChunkDraft, ChunkingOptions, Heading, Page, ParsedDocument

# The sizes of chunks that clients may choose, in OpenAI tokens.
MIN_CHUNK_TOKENS = 32
MAX_CHUNK_TOKENS = 2048
# A line or sentence stays whole up to this share of a chunk, so that a heading fits above it.
_MAX_UNIT_SHARE = 3 / 4
# How good it is to split before a unit: a heading, a paragraph, a line, a sentence, a word.
_HEADING, _PARAGRAPH, _LINE, _SENTENCE, _WORD = 4, 3, 2, 1, 0
# A chunk ends early only if it is this full; before a heading, much earlier: a section of its own is found better.
_MIN_FILL = 1 / 2
_MIN_SECTION_TOKENS = 16
# What a line ends with that the next one does not continue, and what begins an item, a row or a quote.
_LINE_END = re.compile(r"[.!?؟:;…。！？；：][\"'”’»)\]*_`]*\s*\Z")
_MARKER = re.compile(r"\s*(?:[-*+•|#>]|\d{1,4}[.)]\s)")
# A text with more characters per allowed token is split without counting its tokens.
_MAX_CHARACTERS_PER_TOKEN = 16

# How many characters are split into lines at a time.
_BLOCK_CHARACTERS = 1024 * 1024


@dataclass(frozen=True, slots=True)
class _Unit:
    """A part of the text that is not split, with the white space after it. `level`: how good a split before it is."""

    start: int
    end: int
    level: int
    tokens: int


def chunk(parsed: ParsedDocument, options: ChunkingOptions) -> Iterator[ChunkDraft]:
    """Split a document into chunks.

    Args:
        parsed: The document.
        options: The size of a chunk and the overlap of neighbours, in OpenAI tokens.

    Yields:
        Chunks in reading order, each with at most `options.size` tokens. A text of white space has no chunks.
        Neighbours share up to `options.overlap` tokens, in whole sentences or words, but never across a heading.
    """
    text = parsed.text
    remaining_units = _split_into_units(parsed, options.size)
    units: list[_Unit] = []
    headings = _HeadingPath(parsed.headings)
    pages = _PageNumbers(parsed.pages)
    position = first = 0
    _read_ahead(units, first, remaining_units, options.size)
    start = units[0].start if units else 0
    while first < len(units):
        if text[start : units[first].end].isspace():  # a chunk does not begin with white space
            first += 1
            _read_ahead(units, first, remaining_units, options.size)
            start = units[first].start if first < len(units) else len(text)
            continue
        last = _best_split(units, first, options.size, count_tokens(text[start : units[first].start]))
        start, last, tokens = _fit(text, units, start, first, last, options.size)
        stripped = text[start : units[last - 1].end].rstrip()
        end = start + len(stripped)
        path = headings.at(max(start, _last_leading_heading(units[first:last]).start))
        yield ChunkDraft(position, start, end, stripped, path, tokens, pages.between(start, end))
        position += 1
        while first and units[0].end <= start:  # an overlap reaches back into this chunk at most
            del units[0]
            first, last = first - 1, last - 1
        first = last
        _read_ahead(units, first, remaining_units, options.size)
        if first < len(units):
            start = _overlap_start(text, units, start, first, options.overlap)


def _read_ahead(units: list["_Unit"], first: int, remaining_units: Iterator["_Unit"], size: int) -> None:
    """Append units until there are more from `first` on than a chunk can have: a long text has millions."""
    tokens = sum(unit.tokens for unit in units[first:])
    while tokens <= size or len(units) - first < 2:
        unit = next(remaining_units, None)
        if unit is None:
            return
        units.append(unit)
        tokens += unit.tokens


def _split_into_units(parsed: ParsedDocument, size: int) -> Iterator[_Unit]:
    """Split the text, without its leading white space, into units of less than `size` tokens.

    A line is a unit if it is small enough; otherwise each of its sentences is, and otherwise each word of the sentence.
    The first part has the level of the whole: a split before it is as good as one before the line.
    """
    text = parsed.text
    for start, end, level in _find_lines(parsed):
        if unit := _as_unit(text, start, end, level, size):
            yield unit
            continue
        for sentence_start, sentence_end in itertools.pairwise([start, *_sentence_ends(text, start, end), end]):
            sentence_level = level if sentence_start == start else _SENTENCE
            if unit := _as_unit(text, sentence_start, sentence_end, sentence_level, size):
                yield unit
                continue
            for word_start, word_end in _find_words(text, sentence_start, sentence_end, size):
                word_level = sentence_level if word_start == sentence_start else _WORD
                yield _Unit(word_start, word_end, word_level, count_tokens(text[word_start:word_end]))


def _as_unit(text: str, start: int, end: int, level: int, size: int) -> _Unit | None:
    """Return text[start:end] as one unit if it is small enough. A very long one is not counted, which takes time."""
    if end - start > _MAX_CHARACTERS_PER_TOKEN * size:
        return None
    unit_text = text[start:end]
    # Without the white space after it a text may have one token more: "<>();\n" is one, "<>();" are two.
    tokens = max(count_tokens(unit_text), count_tokens(unit_text.rstrip()))
    return _Unit(start, end, level, tokens) if tokens <= size * _MAX_UNIT_SHARE else None


def _find_lines(parsed: ParsedDocument) -> Iterator[tuple[int, int, int]]:
    """Yield (start, end, level) of each line that is not blank; blank lines belong to the line before."""
    text = parsed.text
    heading_starts = {heading.start for heading in parsed.headings}
    current: tuple[int, int] | None = None  # start and level of the line whose end is not known yet
    level, opening_marks, line_above, offset = _PARAGRAPH, "", "", 0
    for line in _split_lines(text):
        if line.isspace():
            level = _PARAGRAPH
        else:
            if current:
                yield current[0], offset, current[1]
            if opening_marks and closes_block(line, opening_marks):
                opening_marks = ""
            elif parsed.is_markdown and not opening_marks:
                opening_marks = find_opening_marks(line, line_above)
            if opening_marks:
                level = min(level, _SENTENCE)
            elif level == _LINE and _continues(line_above, line):
                level = _WORD
            current, level = (offset, _HEADING if offset in heading_starts else level), _LINE
        offset, line_above = offset + len(line), line
    if current:
        yield current[0], offset, current[1]


def _continues(line_above: str, line: str) -> bool:
    """Return whether a line continues the sentence of the line above, as in texts with lines of limited length."""
    return not (_LINE_END.search(line_above[-20:]) or _MARKER.match(line))


def _split_lines(text: str) -> Iterator[str]:
    """Yield what str.splitlines(keepends=True) returns, without a second copy of a long text in memory."""
    start = 0
    while start < len(text):
        end = text.find("\n", start + _BLOCK_CHARACTERS) + 1 or len(text)
        yield from text[start:end].splitlines(keepends=True)
        start = end


def _sentence_ends(text: str, start: int, end: int) -> list[int]:
    return [match.end() for match in SENTENCE_END.finditer(text, start, end) if start < match.end() < end]


def _find_words(text: str, start: int, end: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of words with the white space after them, long ones in parts of less than `size` tokens."""
    max_characters = max(1, size // 8)  # a character has at most 4 tokens
    word = re.compile(rf"\S{{1,{max_characters}}}+\s{{0,{max_characters}}}+|\s{{1,{max_characters}}}+")
    return (match.span() for match in word.finditer(text, start, end))


def _best_split(units: list[_Unit], first: int, size: int, used: int) -> int:
    """Return the index of the unit before which the chunk that begins with unit `first` ends.

    Args:
        units: The units of the text.
        first: The index of the chunk's first unit.
        size: The maximum number of tokens of the chunk.
        used: The number of tokens that the overlap with the previous chunk has.
    """
    best = first + 1
    best_level = -1
    filled = used + units[first].tokens
    for index in range(first + 1, len(units)):
        unit = units[index]
        ends_section = unit.level == _HEADING and units[index - 1].level != _HEADING
        if ends_section and filled >= _MIN_SECTION_TOKENS:
            return index
        if filled >= size * _MIN_FILL and unit.level >= best_level:
            best, best_level = index, unit.level
        filled += unit.tokens
        if filled > size:
            return best if best_level >= 0 else index
    return len(units)


def _last_leading_heading(units: list[_Unit]) -> _Unit:
    """Return the last of the headings that a chunk begins with, which is above the rest; without one its first unit."""
    leading = list(itertools.takewhile(lambda unit: unit.level == _HEADING, units))
    return leading[-1] if leading else units[0]


def _fit(text: str, units: list[_Unit], start: int, first: int, last: int, size: int) -> tuple[int, int, int]:
    """Shorten the chunk until it has at most `size` tokens; return its start, its last unit and its tokens.

    A text has nearly, not exactly, as many tokens as its units together.
    """
    while (tokens := count_tokens(text[start : units[last - 1].end].rstrip())) > size:
        if last - first > 1:
            last = first + max(1, min(last - first - 1, (last - first) * size // tokens))
        elif start < units[first].start:
            start = units[first].start  # without the overlap
        else:
            raise AssertionError("one unit fits: see _as_unit and _words")
    return start, last, tokens


def _overlap_start(text: str, units: list[_Unit], previous_start: int, first: int, overlap: int) -> int:
    """Return where the chunk whose first new unit is `first` starts: up to `overlap` tokens earlier.

    It starts after the previous chunk's start, at a unit if one fits, else at a word. A heading has no overlap.
    """
    if units[first].level == _HEADING or not overlap:
        return units[first].start
    begin, remaining = first, overlap
    while units[begin - 1].start > previous_start and units[begin - 1].tokens <= remaining:
        begin -= 1
        remaining -= units[begin].tokens
    if begin < first:
        return units[begin].start
    words = list(_find_words(text, max(previous_start + 1, units[first - 1].start), units[first].start, 4 * overlap))
    overlap_start = units[first].start
    for word, word_end in reversed(words[1:]):
        remaining -= count_tokens(text[word:word_end])
        if remaining < 0:
            break
        overlap_start = word
    return overlap_start


class _PageNumbers:
    def __init__(self, pages: tuple[Page, ...]) -> None:
        self._starts = [page.start for page in pages]
        self._numbers = [page.number for page in pages]

    def between(self, start: int, end: int) -> tuple[int, int] | None:
        """Return the pages of the first and the last character of text[start:end]."""
        if not self._starts:
            return None
        return self._at(start), self._at(end - 1)

    def _at(self, offset: int) -> int:
        return self._numbers[max(0, bisect.bisect_right(self._starts, offset) - 1)]


class _HeadingPath:
    """The headings above an offset, outermost first. Offsets must not decrease: each heading is read once."""

    def __init__(self, headings: tuple[Heading, ...]) -> None:
        self._remaining = iter(headings)
        self._next = next(self._remaining, None)
        self._path: list[Heading] = []

    def at(self, offset: int) -> tuple[str, ...]:
        while self._next is not None and self._next.start <= offset:
            level = self._next.level
            self._path = [*(heading for heading in self._path if heading.level < level), self._next]
            self._next = next(self._remaining, None)
        return tuple(heading.title for heading in self._path)
