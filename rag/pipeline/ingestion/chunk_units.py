"""The units of a text that chunks consist of: lines, sentences of long lines, and words of long sentences."""

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from rag.text.markup.code_block_marks import closes_block, find_opening_marks
from rag.text.sentences.split_sentences import SENTENCE_END
from rag.text.token_counts import count_tokens
from rag.types import DocumentText, ParsedDocument, read_lines_in_parts

# A line or sentence stays whole up to this share of a chunk, so that a heading fits above it.
_MAX_UNIT_SHARE = 3 / 4
# How good it is to split before a unit: a heading, a paragraph, a line, a sentence, a word.
HEADING, PARAGRAPH, LINE, SENTENCE, WORD = 4, 3, 2, 1, 0
# What a line ends with that the next one does not continue, and what begins an item, a row or a quote.
_LINE_END = re.compile(r"[.!?؟:;…。！？；：][\"'”’»)\]*_`]*\s*\Z")
_MARKER = re.compile(r"\s*(?:[-*+•|#>]|\d{1,4}[.)]\s|\(?(?:[a-zA-Z]|[ivx]{2,5}|[IVX]{2,5})\)\s|\(\d{1,3}\)\s)")
# A text with more characters per allowed token is split without counting its tokens.
_MAX_CHARACTERS_PER_TOKEN = 16


@dataclass(frozen=True, slots=True)
class Unit:
    """A part of the text that is not split, with the white space after it. `level`: how good a split before it is."""

    start: int
    end: int
    level: int
    tokens: int


def split_into_units(parsed: ParsedDocument, size: int) -> Iterator[Unit]:
    """Split the text, without its leading white space, into units of less than `size` tokens.

    A line is a unit if it is small enough; otherwise each of its sentences is, and otherwise each word of the sentence.
    The first part has the level of the whole: a split before it is as good as one before the line.

    Args:
        parsed: The document.
        size: The size of a chunk in OpenAI tokens.

    Yields:
        The units in reading order.
    """
    text = parsed.content
    for start, end, level in _find_lines(parsed):
        if unit := _as_unit(text, start, end, level, size):
            yield unit
            continue
        for sentence_start, sentence_end in itertools.pairwise([start, *_sentence_ends(text, start, end), end]):
            sentence_level = level if sentence_start == start else SENTENCE
            if unit := _as_unit(text, sentence_start, sentence_end, sentence_level, size):
                yield unit
                continue
            for word_start, word_end in find_words(text, sentence_start, sentence_end, size):
                word_level = sentence_level if word_start == sentence_start else WORD
                yield Unit(word_start, word_end, word_level, count_tokens(text[word_start:word_end]))


def _as_unit(text: DocumentText, start: int, end: int, level: int, size: int) -> Unit | None:
    """Return text[start:end] as one unit if it is small enough. A very long one is not counted, which takes time."""
    if end - start > _MAX_CHARACTERS_PER_TOKEN * size:
        return None
    unit_text = text[start:end]
    # Without the white space after it a text may have one token more: "<>();\n" is one, "<>();" are two.
    tokens = max(count_tokens(unit_text), count_tokens(unit_text.rstrip()))
    return Unit(start, end, level, tokens) if tokens <= size * _MAX_UNIT_SHARE else None


def _find_lines(parsed: ParsedDocument) -> Iterator[tuple[int, int, int]]:
    """Yield (start, end, level) of each line that is not blank; blank lines belong to the line before."""
    heading_starts = {heading.start for heading in parsed.headings}
    current: tuple[int, int] | None = None  # start and level of the line whose end is not known yet
    level, opening_marks, line_above, offset = PARAGRAPH, "", "", 0
    parts = read_lines_in_parts(parsed.content)
    for line in itertools.chain.from_iterable(part.splitlines(keepends=True) for part in parts):
        if line.isspace():
            level = PARAGRAPH
        else:
            if current:
                yield current[0], offset, current[1]
            if opening_marks and closes_block(line, opening_marks):
                opening_marks = ""
            elif parsed.is_markdown and not opening_marks:
                opening_marks = find_opening_marks(line, line_above)
            if opening_marks:
                level = min(level, SENTENCE)
            elif level == LINE and _continues(line_above, line):
                level = WORD
            current, level = (offset, HEADING if offset in heading_starts else level), LINE
        offset, line_above = offset + len(line), line
    if current:
        yield current[0], offset, current[1]


def _continues(line_above: str, line: str) -> bool:
    """Return whether a line continues the sentence of the line above, as in texts with lines of limited length."""
    return not (_LINE_END.search(line_above[-20:]) or _MARKER.match(line))


def _sentence_ends(text: DocumentText, start: int, end: int) -> list[int]:
    ends = (start + match.end() for match in SENTENCE_END.finditer(text[start:end]))
    return [sentence_end for sentence_end in ends if sentence_end < end]


def find_words(text: DocumentText, start: int, end: int, size: int) -> Iterator[tuple[int, int]]:
    """Find words with the white space after them, long ones in parts.

    Args:
        text: The text.
        start: Where the first word begins.
        end: Where the last word ends.
        size: What a part has fewer tokens than.

    Yields:
        The start and end of each.
    """
    max_characters = max(1, size // 8)  # a character has at most 4 tokens
    word = re.compile(rf"\S{{1,{max_characters}}}+\s{{0,{max_characters}}}+|\s{{1,{max_characters}}}+")
    return ((start + match.start(), start + match.end()) for match in word.finditer(text[start:end]))
