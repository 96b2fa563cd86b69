"""Step: Parsed → chunks, bounded in OpenAI tokens, cut at headings, paragraphs and sentences where possible."""

import functools
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from semantic_text_splitter import MarkdownSplitter, TextSplitter

from rag.types import ChunkDraft, ChunkingOptions, Heading, Parsed

if TYPE_CHECKING:
    import bpe_openai

# The splitter's time grows with the square of a stretch that offers no place to cut. Blocks bound it, and memory.
_BLOCK = 50_000
# Where a block may end, best first.
_BLOCK_ENDS = tuple(re.compile(pattern) for pattern in (r"\n(?=#{1,6} )", r"\n\s*\n", r"\n", r"[.!?。！？]\s*", r"\s"))


def chunk(parsed: Parsed, options: ChunkingOptions) -> Iterator[ChunkDraft]:
    """Chunks in reading order; none for a text of white space. Each has at most `options.size` tokens.

    Neighbours share up to `options.overlap` tokens, in whole sentences or words.
    """
    splitter = _splitter(parsed.is_markdown, options)
    position = 0
    headings = _HeadingPath(parsed.headings)
    for offset, block in _blocks(parsed.text):
        for start, text in splitter.chunk_indices(block):
            if text.strip():
                start += offset
                yield ChunkDraft(position, start, start + len(text), text, headings.at(start), count_tokens(text))
                position += 1


def count_tokens(text: str) -> int:
    """OpenAI tokens (cl100k_base, the encoding of text-embedding-3)."""
    return len(_encoding().encode(text, disallowed_special=()))


@functools.cache
def _encoding() -> "bpe_openai.Encoding":
    import bpe_openai  # reads all its vocabularies, most of a second

    return bpe_openai.get_encoding("cl100k_base")


@functools.lru_cache(maxsize=32)
def _splitter(is_markdown: bool, options: ChunkingOptions) -> TextSplitter | MarkdownSplitter:
    kind: Callable[..., TextSplitter | MarkdownSplitter]
    kind = MarkdownSplitter.from_callback if is_markdown else TextSplitter.from_callback
    return kind(count_tokens, options.size, overlap=options.overlap)


def _blocks(text: str) -> Iterator[tuple[int, str]]:
    """The text in pieces of at most _BLOCK characters, each with its offset. Most documents are one piece."""
    start = 0
    while len(text) - start > _BLOCK:
        end = _block_end(text, start)
        yield start, text[start:end]
        start = end
    yield start, text[start:]


def _block_end(text: str, start: int) -> int:
    window = text[start + _BLOCK // 2 : start + _BLOCK]
    for pattern in _BLOCK_ENDS:
        ends = [match.end() for match in pattern.finditer(window)]
        if ends:
            return start + _BLOCK // 2 + ends[-1]
    return start + _BLOCK


class _HeadingPath:
    """The headings that stand over an offset, outermost first. Asked with rising offsets, it walks the text once."""

    def __init__(self, headings: tuple[Heading, ...]) -> None:
        self._ahead = iter(headings)
        self._next = next(self._ahead, None)
        self._path: list[Heading] = []
        self._last = 0

    def at(self, offset: int) -> tuple[str, ...]:
        while self._next is not None and self._next.start <= offset:
            level = self._next.level
            self._path = [*(above for above in self._path if above.level < level), self._next]
            self._next = next(self._ahead, None)
        return tuple(heading.title for heading in self._path)
