"""Questions with the texts that are compared for each: pairs by question, and parts of paragraphs of SQuAD."""

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.training.answer_check.pairs import Pair
from benchmarks.training.embedded_texts import sentence_spans
from benchmarks.training.multilingual_questions.articles import embed_texts
from benchmarks.training.questions import AnsweredQuestion, Text
from rag.providers.base import Vectors
from rag.providers.embedders.multilingual_questions import move_towards_answer

# A part of a paragraph has this many characters. Longer ones are as long as a passage that is reranked.
_PART_CHARACTERS, _LONG_CHARACTERS, _SHARE_LONG = (160, 230, 230, 260), (420, 560, 620), 0.18
_SIMILAR, _WRONG = 14, 3
# A paragraph of the same article is preferred as a wrong one. The next sentence is, to the one before.
_SAME_ARTICLE, _NEXT = 0.03, 0.05
_MAX_TEXTS = 4


@dataclass(frozen=True, slots=True)
class Group:
    """A question, and texts with whether each answers it.

    Attributes:
        question: The question.
        texts: Each text, and whether it answers the question.
        keeps_logits: Whether a network that is trained further learns its earlier logits of them, not who is right.
    """

    question: str
    texts: list[tuple[str, bool]]
    keeps_logits: bool = False


def group_pairs(pairs: Iterable[Pair]) -> list[Group]:
    """Return the pairs of each question as a group."""
    by_question: dict[str, list[tuple[str, bool]]] = {}
    for pair in pairs:
        by_question.setdefault(pair.question, []).append((pair.quote, pair.is_right))
    return [Group(question, texts) for question, texts in by_question.items()]


def paragraph_groups(
    texts: Sequence[Text], questions: Sequence[AnsweredQuestion], generator: random.Random
) -> Iterator[Group]:
    """Yield the part of a paragraph with the answer of each question, and similar parts of other paragraphs."""
    spans = [sentence_spans(text.text) for text in texts]
    ends = np.cumsum([len(of_text) for of_text in spans]).tolist()
    rows = [range(end - len(of_text), end) for of_text, end in zip(spans, ends, strict=True)]
    sentences = [text.text[start:end] for text, of_text in zip(texts, spans, strict=True) for start, end in of_text]
    of_sentences, of_texts = embed_texts(sentences), embed_texts([text.text for text in texts])
    groups = np.array([hash(text.group) for text in texts])
    for question in questions:
        text_index = question.text_index
        answering = [
            row
            for row, (start, end) in zip(rows[text_index], spans[text_index], strict=True)
            if start <= question.start and question.end <= end
        ]
        if not answering:
            continue
        vector = embed_texts([question.question])[0]
        similarity = of_sentences @ vector
        answer = texts[text_index].text[question.start : question.end].lower()
        limit = generator.choice(_LONG_CHARACTERS if generator.random() < _SHARE_LONG else _PART_CHARACTERS)
        order = np.argsort(-(of_texts @ vector + _SAME_ARTICLE * (groups == groups[text_index])))
        others = [
            _part(
                sentences, rows[index], rows[index].start + int(np.argmax(similarity[rows[index]])), similarity, limit
            )
            for index in order[:_SIMILAR].tolist()
            if index != text_index and rows[index]
        ]
        wrong = [part for part in others if answer not in part.lower()]
        if len(wrong) > _WRONG:
            right = _part(sentences, rows[text_index], answering[0], similarity, limit)
            chosen = [*wrong[: _WRONG - 1], generator.choice(wrong[_WRONG - 1 :])]
            yield Group(question.question, [(right, True), *((part, False) for part in chosen)])


def _part(sentences: Sequence[str], paragraph: range, row: int, similarity: Vectors, limit: int) -> str:
    """Return a sentence with the more similar of its neighbours, again and again, in at most `limit` characters."""
    first, end = row, row + 1
    while True:
        size = sum(map(len, sentences[first:end]))
        beside = [(similarity[end] + _NEXT, end)] if end < paragraph.stop else []
        beside += [(similarity[first - 1], first - 1)] if first > paragraph.start else []
        fitting = [option for option in beside if size + len(sentences[option[1]]) <= limit]
        if not fitting:
            return " ".join(sentences[first:end])
        _, added = max(fitting)
        first, end = min(first, added), max(end, added + 1)


def compare_in_any_language(questions: Sequence[str], texts: Sequence[str]) -> Vectors:
    """Return the cosine similarity of each question (rows) and each text (columns), by the multilingual model."""
    moved = np.stack([move_towards_answer(vector) for vector in embed_texts(questions)])
    return moved @ embed_texts(texts).T


def keep_logits(groups: Iterable[Group]) -> Iterator[Group]:
    """Yield the groups as those whose logits are to stay as they are."""
    return (replace(group, keeps_logits=True) for group in groups)


def repeat(groups: Sequence[Group], generator: random.Random) -> Iterator[Group]:
    """Yield all groups in random order, again and again."""
    while True:
        yield from generator.sample(groups, len(groups))


def alternate(
    streams: Mapping[str, Iterator[Group]], shares: Mapping[str, float], generator: random.Random
) -> Iterator[Group]:
    """Yield groups of the streams in turn at random, by these shares, without an end."""
    names = list(streams)
    while True:
        (name,) = generator.choices(names, [shares[name] for name in names])
        yield next(streams[name])


def draw(
    groups: Mapping[str, Sequence[Group]], shares: Mapping[str, float], generator: random.Random
) -> Iterator[Group]:
    """Yield groups of the sources in turn at random, by these shares, without an end."""
    names = [name for name in shares if groups.get(name)]
    places = {name: generator.randrange(len(groups[name])) for name in names}
    while True:
        (name,) = generator.choices(names, [shares[name] for name in names])
        group = groups[name][places[name] % len(groups[name])]
        places[name] += 1
        texts = group.texts if len(group.texts) <= _MAX_TEXTS else generator.sample(group.texts, _MAX_TEXTS)
        yield Group(group.question, texts)
