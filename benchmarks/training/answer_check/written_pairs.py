"""Groups of texts for questions written by hand about invented documents: answers, and sentences that are none.

A line of a file has a passage (`org`, `lang`, `title`, `heading`, `text`), questions that it answers (`answered`: `q`
and `quote`, or a list of quotes), and questions about the same thing that it does not answer (`near`: `q`).
"""

import hashlib
import json
import random
import uuid
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.training.answer_check.pairs import compare
from benchmarks.training.multilingual_check.groups import Group
from rag.pipeline.answering.extractive.parts.needed_parts import PassageStructure
from rag.pipeline.answering.extractive.quote_parts import quote_parts
from rag.pipeline.answering.extractive.quotes import nearest_heading
from rag.pipeline.answering.extractive.render_quotes import render_quotes
from rag.types import Passage

# One organisation in so many is held out.
_SHARE_HELD_OUT = 6
# How often the heading is left out, and how often a right quote has the sentence before or after it, too.
_SHARE_WITHOUT_HEADING, _SHARE_WITH_NEIGHBOUR = 0.12, 0.45
# Wrong quotes are the most similar one of the passage, and one among so many more of it and of others.
_MORE_OF_PASSAGE, _MORE_OF_OTHERS = 2, 1
# How often an answered question has the second one.
_SHARE_SECOND_WRONG = 0.5
# So much of an answer is quoted: spaces between its sentences are not.
_SHARE_QUOTED = 0.9
# A quote of another passage that is more similar than that to an answered question may answer it, too.
_MAX_SIMILARITY_OF_OTHERS = 0.75
_ID = uuid.UUID(int=0)

# Where a part of a passage begins and ends, in characters.
_Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Quote:
    """What the product may quote of a passage: where its parts begin and end, and how they are shown."""

    passage: int
    parts: tuple[_Span, ...]
    heading: str
    text: str

    def text_to_read(self, *, with_heading: bool = True) -> str:
        return f"{self.heading}\n{self.text}" if self.heading and with_heading else self.text


def read_written(files: Sequence[Path], generator: random.Random, lang: str = "en") -> tuple[list[Group], list[Group]]:
    """Read the groups of questions and passages in a language.

    Returns:
        The groups to train with, and those of the organisations that are held out.
    """
    passages_by_organization: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for file in files:
        for line in file.read_text().splitlines():
            passage = json.loads(line)
            if passage["lang"] == lang:
                passages_by_organization[passage["org"]].append(passage)
    trained: list[Group] = []
    held_out: list[Group] = []
    for organization, passages in passages_by_organization.items():
        groups = held_out if is_held_out(organization) else trained
        groups += _groups(passages, generator, lang)
    return trained, held_out


def is_held_out(organization: str) -> bool:
    return hashlib.sha256(organization.encode()).digest()[0] % _SHARE_HELD_OUT == 0


def _groups(passages: Sequence[dict[str, Any]], generator: random.Random, lang: str) -> Iterator[Group]:
    quotes = [quote for number, passage in enumerate(passages) for quote in _quotes(number, passage)]
    questions = [
        (number, item["q"].strip(), item.get("quote", ()))
        for number, passage in enumerate(passages)
        for item in (*passage["answered"], *passage["near"])
        if item.get("lang", lang) == lang
    ]
    similarities = compare([question for _, question, _ in questions], [quote.text_to_read() for quote in quotes])
    for (number, question, answer), similarity in zip(questions, similarities, strict=True):
        spans = _find(passages[number]["text"], [answer] if isinstance(answer, str) else answer)
        ranked = [(quotes[index], similarity[index]) for index in np.argsort(-similarity)]
        of_passage = [quote for quote, _ in ranked if quote.passage == number and not _overlaps(quote, spans)]
        highest = _MAX_SIMILARITY_OF_OTHERS if spans else 1
        others = [quote for quote, value in ranked if quote.passage != number and value < highest]
        right = _right(quotes, number, spans, generator) if spans else None
        if spans and not right:
            continue
        more = of_passage[1 : 1 + _MORE_OF_PASSAGE] + others[:_MORE_OF_OTHERS]
        wrong = of_passage[:1]
        if more and (not spans or generator.random() < _SHARE_SECOND_WRONG):
            wrong.append(generator.choice(more))
        texts = [*((quote, True) for quote in [right] if quote), *((quote, False) for quote in wrong)]
        yield Group(question, [(_text_to_read(quote, generator), is_right) for quote, is_right in texts])


def _text_to_read(quote: _Quote, generator: random.Random) -> str:
    return quote.text_to_read(with_heading=generator.random() >= _SHARE_WITHOUT_HEADING)


def _right(quotes: Sequence[_Quote], number: int, spans: Collection[_Span], generator: random.Random) -> _Quote | None:
    """Return a short quote with all characters of the answer, now and then a longer one."""
    whole = [
        quote
        for quote in quotes
        if quote.passage == number
        and all(_common(quote, span) >= _SHARE_QUOTED * (span[1] - span[0]) for span in spans)
    ]
    if not whole:
        return None
    whole.sort(key=lambda quote: len(quote.text))
    return generator.choice(whole) if generator.random() < _SHARE_WITH_NEIGHBOUR else whole[0]


def _overlaps(quote: _Quote, spans: Collection[_Span]) -> bool:
    return any(_common(quote, span) for span in spans)


def _common(quote: _Quote, span: _Span) -> int:
    """Return how many characters of a span are quoted."""
    return sum(max(0, min(end, span[1]) - max(start, span[0])) for start, end in quote.parts)


def _find(text: str, parts: Sequence[str]) -> list[_Span]:
    return [(text.index(part), text.index(part) + len(part)) for part in parts]


def _quotes(number: int, passage: dict[str, Any]) -> Iterator[_Quote]:
    """Yield each part of a passage that can be quoted with what it needs, alone and with the next one."""
    headings = tuple(heading for heading in (passage["title"], passage["heading"]) if heading)
    structure = PassageStructure(_passage(passage["text"], headings, passage["lang"]))
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
            yield _Quote(number, spans, nearest_heading(rendered[0]), render_quotes(rendered))


def _passage(text: str, headings: tuple[str, ...], lang: str) -> Passage:
    return Passage(
        chunk_id=_ID, document_id=_ID, source_id=_ID, organization_id=_ID, source_slug="", rank=1, score=0,
        relevance=0, text=text, position=0, start=0, end=len(text), headings=headings, title=headings[0], path="",
        uri="", content_type="", source_type="doc", lang=lang, tags=(), metadata={}, date=None,
    )  # fmt: skip
