"""What speaks for a sentence being carried by a context: its words, its pieces, its names and its numbers."""

import bisect
import functools
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import structlog

from rag.errors import EmbeddingFailed
from rag.providers import registry
from rag.text.entities import Mention, find_names, find_numbers, normalized_numbers
from rag.text.words import content_words, is_function_word, sentence_spans, split_words, stem
from rag.types.token_vectors import TokenVectors

_WORD = re.compile(r"\w+")

logger = structlog.get_logger(__name__)

# Characters and pieces of an answer and of a context that are embedded: half a second of one core at the most.
_MOST_ANSWER, _MOST_CONTEXT = 3_000, 12_000
_MOST_ANSWER_PIECES, _MOST_CONTEXT_PIECES = 600, 2_400
# What counts how much (docs/decisions/0030-answer-validation.md): function words together a quarter of the words.
_FUNCTION_WORDS = 0.25
_WORDS, _WEAKEST, _PAIRS, _NAMES, _NUMBERS = 1.0, 1.0, 0.4, 0.3, 0.5


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence of an answer at start … end. score: 0…1. unknown: its names and numbers that the context lacks.

    span: where in the context the sentence stands that comes nearest to it; None if none has anything in common.
    """

    start: int
    end: int
    split_words: int
    score: float
    span: tuple[int, int] | None
    unknown_names: tuple[str, ...]
    unknown_numbers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Comparison:
    """near: how near the context comes to each of the answer's pieces, which stand at `places`; at: where in the
    context its nearest piece begins."""

    near: TokenVectors
    places: list[tuple[int, int]]
    at: list[int]


@dataclass(frozen=True)
class ContextIndex:
    """A context, read once for all sentences of an answer."""

    text: str
    lang: str

    @functools.cached_property
    def order(self) -> list[str]:
        return [stem(word, self.lang) for word in split_words(self.text, self.lang)]

    @functools.cached_property
    def stems(self) -> frozenset[str]:
        return frozenset(self.order)

    @functools.cached_property
    def pairs(self) -> frozenset[tuple[str, str]]:
        return frozenset(pairwise(self.order))

    @functools.cached_property
    def amounts(self) -> set[str]:
        return normalized_numbers(self.text)

    @functools.cached_property
    def spans(self) -> list[tuple[int, int]]:
        return sentence_spans(self.text)

    @functools.cached_property
    def having(self) -> dict[str, list[int]]:
        """Stem → the sentences that have it, by their index."""
        found: dict[str, list[int]] = {}
        for index, (start, end) in enumerate(self.spans):
            for each in _stems(self.text[start:end], self.lang):
                found.setdefault(each, []).append(index)
        return found

    @functools.cached_property
    def _plain(self) -> str:
        return f" {' '.join(_WORD.findall(self.text.lower()))} "

    def quotes(self, sentence: str) -> bool:
        """Whether all its words stand here in the same order, one after the other."""
        return f" {' '.join(_WORD.findall(sentence.lower()))} " in self._plain

    def lacks(self, named: Mention) -> bool:
        return not all(stem(word, self.lang) in self.stems for word in split_words(named.text, self.lang))


def score_claims(answer: str, context: str, lang: str) -> list[Claim]:
    """Each sentence of the answer that says something, with what speaks for it; one that stands in the context word by
    word is beyond doubt. Works without the pieces as well, if the local model cannot be loaded: less sharply."""
    known = ContextIndex(context, lang)
    spans = sentence_spans(answer)
    is_quoted = all(known.quotes(answer[start:end]) for start, end in spans)
    compared = None if is_quoted else _compared(answer, known)
    found = [_claim(answer, span, known, compared) for span in spans]
    said = [claim for claim in found if claim is not None]
    # A "Yes, of course." beside real sentences is none.
    return [claim for claim in said if claim.words > 1] or said


def _claim(answer: str, span: tuple[int, int], known: ContextIndex, compared: _Comparison | None) -> Claim | None:
    start, end = span
    text, lang = answer[start:end], known.lang
    order = [stem(word, lang) for word in split_words(text, lang)]
    content = content_words(text, lang)
    if not order:
        return None
    stems = [stem(word, lang) for word in content]
    named, counted = list(find_names(text)), list(find_numbers(text))
    unknown = [each for each in named if known.lacks(each)]
    invented = [each for each in counted if not normalized_numbers(each.text) <= known.amounts]
    worth = (1 - _FUNCTION_WORDS) * _share(stems, known.stems) + _FUNCTION_WORDS * _share(order, known.stems)
    evidence = [
        (_WORDS, worth),
        (_PAIRS, _share(list(pairwise(order)), known.pairs)),
        (_NAMES, 1 - len(unknown) / len(named) if named else 1.0),
        (_NUMBERS, 1 - len(invented) / len(counted) if counted else 1.0),
    ]
    inside = _inside(span, answer, compared) if compared else []
    if compared and inside:
        evidence.append((_WEAKEST, float(max(0.0, compared.near[inside].min()))))
    return Claim(
        start=start,
        end=end,
        words=sum(not is_function_word(word, lang) for word in content),
        score=1.0 if known.quotes(text) else sum(map(math.prod, evidence)) / sum(weight for weight, _ in evidence),
        span=_nearest_sentence(frozenset(stems), known, [compared.at[index] for index in inside] if compared else []),
        unknown_names=tuple(dict.fromkeys(each.text for each in unknown)),
        unknown_numbers=tuple(dict.fromkeys(each.text for each in invented)),
    )


def _stems(text: str, lang: str) -> frozenset[str]:
    return frozenset(stem(word, lang) for word in split_words(text, lang))


def _share(items: Sequence[Any], known: frozenset[Any]) -> float:
    return sum(item in known for item in items) / len(items) if items else 1.0


def _inside(span: tuple[int, int], answer: str, compared: _Comparison) -> list[int]:
    """The pieces of words within the span: punctuation comes near to anything or to nothing."""
    return [
        index
        for index, (start, end) in enumerate(compared.places)
        if span[0] <= start and end <= span[1] and answer[start : start + 1].isalnum()
    ]


def _nearest_sentence(stems: frozenset[str], known: ContextIndex, pointed_at: Sequence[int]) -> tuple[int, int] | None:
    """The context's sentence that has most of the words, and most of what comes nearest to the pieces."""
    shared = Counter(index for each in stems for index in known.having.get(each, ()))
    starts = [start for start, _ in known.spans]
    found = (bisect.bisect_right(starts, at) - 1 for at in pointed_at)
    inside = (index for index, at in zip(found, pointed_at, strict=True) if index >= 0 and at < known.spans[index][1])
    pointed = Counter(inside)

    def worth(index: int) -> float:
        return shared[index] / max(1, len(stems)) + pointed[index] / max(1, len(pointed_at))

    best = min({*shared, *pointed}, key=lambda index: (-worth(index), index), default=None)
    return None if best is None else known.spans[best]


def _compared(answer: str, known: ContextIndex) -> _Comparison | None:
    """None if there is nothing to compare, or no local model to do it with."""
    beginning = answer[:_MOST_ANSWER]
    parts = _chosen(known.text, _stems(beginning, known.lang), known.lang)
    if not beginning.strip() or not parts:
        return None
    embedder = registry.local_embedder()
    try:
        beginning = _cut(beginning, _MOST_ANSWER_PIECES, embedder.token_offsets)
        own = embedder.embed_with_token_vectors(beginning)[1]
        near: list[TokenVectors] = []
        at: list[int] = []
        for start, end in parts:
            part = _cut(known.text[start:end], _MOST_CONTEXT_PIECES - len(at), embedder.token_offsets)
            if part:
                near.append(embedder.embed_with_token_vectors(part)[1])
                at += [start + place[0] for place in embedder.token_offsets(part)]
    except EmbeddingFailed as error:
        logger.warning("answer_not_compared", reason=error.message)
        return None
    if not len(own) or not at:
        return None
    similarity = own @ np.concatenate(near).T
    nearest = similarity.argmax(axis=1)
    return _Comparison(similarity.max(axis=1), embedder.token_offsets(beginning), [at[index] for index in nearest])


def _cut(text: str, pieces: int, places: Callable[[str], list[tuple[int, int]]]) -> str:
    """Its beginning, of at most so many pieces: a character can be one."""
    found = places(text)
    return text if len(found) <= pieces else text[: found[pieces][0]]


def _chosen(context: str, wanted: frozenset[str], lang: str) -> list[tuple[int, int]]:
    """The parts of a context that are embedded: all of it, or of a long one those paragraphs that have most of the
    wanted stems, in their order."""
    if len(context) <= _MOST_CONTEXT:
        return [(0, len(context))] if context.strip() else []
    parts = _paragraphs(context)
    having = [len(wanted & _stems(context[start:end], lang)) for start, end in parts]
    chosen, room = [], _MOST_CONTEXT
    for index in sorted(range(len(parts)), key=lambda index: (-having[index], index)):
        start, end = parts[index]
        if end - start <= room:
            chosen.append(parts[index])
            room -= end - start
    return sorted(chosen)


def _paragraphs(context: str, most: int = 2_000) -> list[tuple[int, int]]:
    """Runs of whole sentences of at most so many characters; a longer sentence is cut."""
    found: list[tuple[int, int]] = []
    for start, end in sentence_spans(context):
        if found and end - found[-1][0] <= most:
            found[-1] = (found[-1][0], end)
        else:
            found += [(at, min(at + most, end)) for at in range(start, end, most)]
    return found
