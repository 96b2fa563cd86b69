"""Step: parsed document -> chunks of limited tokens, split at headings, paragraphs and sentences where possible.

Its time is linear in the length of the text. A splitter library took minutes for 50 KB of line ends or CJK without
spaces, which any client may send (docs/decisions/0016-own-chunker.md).
"""

import bisect
import itertools
from collections.abc import Iterator

from rag.text.token_counts import count_tokens
from rag.types import ChunkDraft, ChunkingOptions, DocumentText, Heading, Page, ParsedDocument

from .chunk_units import HEADING, Unit, find_words, split_into_units

# The sizes of chunks that clients may choose, in OpenAI tokens.
MIN_CHUNK_TOKENS = 32
MAX_CHUNK_TOKENS = 2048
# A chunk ends early only if it is this full; before a heading, much earlier: a section of its own is found better.
_MIN_FILL = 1 / 2
_MIN_SECTION_TOKENS = 16


def chunk(parsed: ParsedDocument, options: ChunkingOptions) -> Iterator[ChunkDraft]:
    """Split a document into chunks.

    Args:
        parsed: The document.
        options: The size of a chunk and the overlap of neighbours, in OpenAI tokens.

    Yields:
        Chunks in reading order, each with at most `options.size` tokens. A text of white space has no chunks.
        Neighbours share up to `options.overlap` tokens, in whole sentences or words, but never across a heading.
    """
    text = parsed.content
    remaining_units = split_into_units(parsed, options.size)
    units: list[Unit] = []
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


def _read_ahead(units: list[Unit], first: int, remaining_units: Iterator[Unit], size: int) -> None:
    """Append units until there are more from `first` on than a chunk can have: a long text has millions."""
    tokens = sum(unit.tokens for unit in units[first:])
    while tokens <= size or len(units) - first < 2:
        unit = next(remaining_units, None)
        if unit is None:
            return
        units.append(unit)
        tokens += unit.tokens


def _best_split(units: list[Unit], first: int, size: int, used: int) -> int:
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
        ends_section = unit.level == HEADING and units[index - 1].level != HEADING
        if ends_section and filled >= _MIN_SECTION_TOKENS:
            return index
        if filled >= size * _MIN_FILL and unit.level >= best_level:
            best, best_level = index, unit.level
        filled += unit.tokens
        if filled > size:
            return best if best_level >= 0 else index
    return len(units)


def _last_leading_heading(units: list[Unit]) -> Unit:
    """Return the last of the headings that a chunk begins with, which is above the rest; without one its first unit."""
    leading = list(itertools.takewhile(lambda unit: unit.level == HEADING, units))
    return leading[-1] if leading else units[0]


def _fit(text: DocumentText, units: list[Unit], start: int, first: int, last: int, size: int) -> tuple[int, int, int]:
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


def _overlap_start(text: DocumentText, units: list[Unit], previous_start: int, first: int, overlap: int) -> int:
    """Return where the chunk whose first new unit is `first` starts: up to `overlap` tokens earlier.

    It starts after the previous chunk's start, at a unit if one fits, else at a word. A heading has no overlap.
    """
    if units[first].level == HEADING or not overlap:
        return units[first].start
    begin, remaining = first, overlap
    while units[begin - 1].start > previous_start and units[begin - 1].tokens <= remaining:
        begin -= 1
        remaining -= units[begin].tokens
    if begin < first:
        return units[begin].start
    words = list(find_words(text, max(previous_start + 1, units[first - 1].start), units[first].start, 4 * overlap))
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
