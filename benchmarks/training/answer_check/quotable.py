"""What the product may quote of passages written by hand, and which of it answers a question."""

import hashlib
import random
import uuid
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from rag.pipeline.answering.extractive.parts.needed_parts import PassageStructure
from rag.pipeline.answering.extractive.quote_parts import quote_parts
from rag.pipeline.answering.extractive.quotes import nearest_heading
from rag.pipeline.answering.extractive.render_quotes import render_quotes
from rag.types import Passage

# One organisation in so many is held out.
_SHARE_HELD_OUT = 6
# How often the heading is left out, and how often a right quote has the sentence before or after it, too.
_SHARE_WITHOUT_HEADING, _SHARE_WITH_NEIGHBOUR = 0.12, 0.45
# So much of an answer is quoted: spaces between its sentences are not.
_SHARE_QUOTED = 0.9
_ID = uuid.UUID(int=0)

# Where a part of a passage begins and ends, in characters.
Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class QuotableText:
    """What the product may quote of a passage.

    Attributes:
        passage: The number of the passage.
        parts: Where its parts begin and end.
        heading: The nearest heading above it.
        text: The parts as they are shown.
    """

    passage: int
    parts: tuple[Span, ...]
    heading: str
    text: str

    def text_to_read(self, *, with_heading: bool = True) -> str:
        return f"{self.heading}\n{self.text}" if self.heading and with_heading else self.text

    def text_to_train(self, generator: random.Random) -> str:
        """Return the text, now and then without its heading."""
        return self.text_to_read(with_heading=generator.random() >= _SHARE_WITHOUT_HEADING)

    def overlaps(self, spans: Collection[Span]) -> bool:
        return any(self._common(span) for span in spans)

    def has_all(self, spans: Collection[Span]) -> bool:
        return all(self._common(span) >= _SHARE_QUOTED * (span[1] - span[0]) for span in spans)

    def _common(self, span: Span) -> int:
        """Return how many characters of a span are quoted."""
        return sum(max(0, min(end, span[1]) - max(start, span[0])) for start, end in self.parts)


def is_held_out(organization: str) -> bool:
    return hashlib.sha256(organization.encode()).digest()[0] % _SHARE_HELD_OUT == 0


def find_spans(text: str, quote: str | Sequence[str]) -> list[Span]:
    """Return where the quote is in the text, or each of the quotes."""
    parts = [quote] if isinstance(quote, str) else quote
    return [(text.index(part), text.index(part) + len(part)) for part in parts]


def right_quote(
    quotes: Sequence[QuotableText], passage: int, spans: Collection[Span], generator: random.Random
) -> QuotableText | None:
    """Return the shortest quote of a passage with all of an answer, now and then a longer one; None without one."""
    whole = [quote for quote in quotes if quote.passage == passage and quote.has_all(spans)]
    if not whole:
        return None
    whole.sort(key=lambda quote: len(quote.text))
    return generator.choice(whole) if generator.random() < _SHARE_WITH_NEIGHBOUR else whole[0]


def quotable_texts(passage: int, *, title: str, heading: str, text: str, lang: str) -> Iterator[QuotableText]:
    """Yield each part of a passage that can be quoted with what it needs, alone and with the next one."""
    headings = tuple(filter(None, (title, heading)))
    structure = PassageStructure(_passage(text, headings, lang))
    quotable = [index for index in range(len(structure.parts)) if structure.is_quotable(index)]
    seen: set[frozenset[int]] = set()
    for first, following in zip(quotable, [*quotable[1:], None], strict=True):
        for parts in ((first,), (first, following)):
            chosen = frozenset(part for index in parts if index is not None for part in structure.complete(index))
            if chosen in seen:
                continue
            seen.add(chosen)
            rendered = quote_parts(1, structure, chosen)
            spans = tuple((structure.parts[index].start, structure.parts[index].end) for index in chosen)
            yield QuotableText(passage, spans, nearest_heading(rendered[0]), render_quotes(rendered))


def _passage(text: str, headings: tuple[str, ...], lang: str) -> Passage:
    return Passage(
        chunk_id=_ID, document_id=_ID, source_id=_ID, organization_id=_ID, source_slug="", rank=1, score=0,
        relevance=0, text=text, position=0, start=0, end=len(text), headings=headings, title=headings[0], path="",
        uri="", content_type="", source_type="doc", lang=lang, tags=(), metadata={}, date=None,
    )  # fmt: skip
