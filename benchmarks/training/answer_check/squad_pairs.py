"""Pairs from SQuAD: sentences that answer a question, and similar ones of the same article that do not."""

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict, TypeVar

import numpy as np

from benchmarks.training.answer_check.pairs import Pair, compare, with_title
from benchmarks.training.embedded_texts import sentence_spans

# Of a long article so many random paragraphs are read: enough to find similar sentences.
_MAX_PARAGRAPHS, _MIN_SENTENCES, _MIN_QUESTION_CHARACTERS = 14, 20, 15
# Parts of a paragraph that are looked for in texts that measure: where they begin, and their length.
_LOOKED_FOR, _LOOKED_FOR_CHARACTERS = (20, 100), 45
_SIMILAR, _MIN_WRONG_CHARACTERS = 12, 30
_SHARE_WITH_TITLE, _SHARE_SECOND_WRONG = 0.3, 0.4
# How often the sentence before or after the answer is quoted, too.
_SHARE_BEFORE, _SHARE_AFTER = 0.35, 0.45

_Chosen = TypeVar("_Chosen")


class _Answer(TypedDict):
    text: str
    answer_start: int


class _Item(TypedDict, total=False):
    question: str
    answers: list[_Answer]
    plausible_answers: list[_Answer]


class _Paragraph(TypedDict):
    context: str
    qas: list[_Item]


class _Article(TypedDict):
    title: str
    paragraphs: list[_Paragraph]


@dataclass(frozen=True, slots=True)
class _Question:
    """A question about an article.

    Attributes:
        text: The question.
        answer: The words that answer it, or only seem to.
        sentence: The index of the sentence with these words.
        paragraph: The indexes of the sentences of its paragraph.
        is_answered: False if these words only seem to answer it (SQuAD 2.0).
    """

    text: str
    answer: str
    sentence: int
    paragraph: range
    is_answered: bool


def read_squad_pairs(
    file: Path, generator: random.Random, *, questions_per_article: int, measuring_text: str = ""
) -> list[Pair]:
    """Read pairs from SQuAD 1.1 (Rajpurkar et al. 2016) or 2.0 (Rajpurkar et al. 2018), both CC BY-SA 4.0.

    Args:
        file: The JSON file, of which all articles are read.
        generator: Chooses paragraphs, questions and sentences.
        questions_per_article: How many questions about an article are used at most.
        measuring_text: The texts that measure the product. Articles with a passage of them are left out.
    """
    articles: list[_Article] = json.loads(file.read_text())["data"]
    pairs: list[Pair] = []
    for article in articles:
        if _is_in(measuring_text, article):
            continue
        sentences, questions = _split(_some_of(article["paragraphs"], _MAX_PARAGRAPHS, generator))
        questions = _some_of(questions, questions_per_article, generator)
        if questions and len(sentences) >= _MIN_SENTENCES:
            pairs += _pairs_of_article(article["title"].replace("_", " "), sentences, questions, generator)
    return pairs


def _is_in(measuring_text: str, article: _Article) -> bool:
    contexts = (paragraph["context"] for paragraph in article["paragraphs"])
    parts = (context[start:][:_LOOKED_FOR_CHARACTERS] for context in contexts for start in _LOOKED_FOR)
    return any(len(part) == _LOOKED_FOR_CHARACTERS and part in measuring_text for part in parts)


def _some_of(items: Sequence[_Chosen], at_most: int, generator: random.Random) -> list[_Chosen]:
    return generator.sample(items, min(at_most, len(items)))


def _split(paragraphs: Sequence[_Paragraph]) -> tuple[list[str], list[_Question]]:
    """Return the sentences of these paragraphs and the questions about them that are not too short."""
    sentences: list[str] = []
    questions: list[_Question] = []
    for paragraph in paragraphs:
        spans = sentence_spans(paragraph["context"])
        indexes = range(len(sentences), len(sentences) + len(spans))
        sentences += [" ".join(paragraph["context"][start:end].split()) for start, end in spans]
        for item in paragraph["qas"]:
            if len(item["question"].strip()) < _MIN_QUESTION_CHARACTERS:
                continue
            answers = item["answers"] or item.get("plausible_answers", [])
            for answer in answers[:1]:
                place = answer["answer_start"]
                questions += [
                    _Question(item["question"].strip(), answer["text"], index, indexes, bool(item["answers"]))
                    for index, (start, end) in zip(indexes, spans, strict=True)
                    if start <= place < end
                ]
    return sentences, questions


def _pairs_of_article(
    title: str, sentences: list[str], questions: list[_Question], generator: random.Random
) -> Iterator[Pair]:
    similarities = compare([question.text for question in questions], sentences)
    for question, similarity in zip(questions, similarities, strict=True):
        quote = _quote(sentences, question, generator)
        yield Pair(question.text, with_title(quote, title, generator, _SHARE_WITH_TITLE), question.is_answered)
        if not question.is_answered:
            continue
        wrong = [
            sentences[index]
            for index in np.argsort(-similarity)[:_SIMILAR]
            if question.answer.lower() not in sentences[index].lower()
            and len(sentences[index]) > _MIN_WRONG_CHARACTERS
            and abs(index - question.sentence) > 1
        ]
        if wrong:
            yield Pair(question.text, with_title(wrong[0], title, generator, _SHARE_WITH_TITLE), False)
        if len(wrong) > 2 and generator.random() < _SHARE_SECOND_WRONG:
            yield Pair(question.text, " ".join(wrong[1:3]), False)


def _quote(sentences: list[str], question: _Question, generator: random.Random) -> str:
    """Return the sentence with the answer, at times with its neighbours in the paragraph."""
    first, end = question.sentence, question.sentence + 1
    if first > question.paragraph.start and generator.random() < _SHARE_BEFORE:
        first -= 1
    if end < question.paragraph.stop and generator.random() < _SHARE_AFTER:
        end += 1
    return " ".join(sentences[first:end])
