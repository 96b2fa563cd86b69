"""The sentences of SQuAD's articles and the questions about them, as the multilingual model embeds both."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.training.embedded_texts import sentence_spans
from benchmarks.training.questions import AnsweredQuestion, Text
from rag.providers import provider_factory
from rag.providers.base import Vectors

_TEXTS_PER_CALL = 64


@dataclass(frozen=True, slots=True)
class Article:
    """An article.

    Attributes:
        sentences: The vectors of its sentences, float32 (sentences, dimensions).
        passages: The rows of the sentences of each passage.
        questions: The vectors of its questions, float32 (questions, dimensions).
        answers: The passage of each question, and the row of the sentence that has the answer.
    """

    sentences: Vectors
    passages: list[range]
    questions: Vectors
    answers: list[tuple[int, int]]


def embed_articles(texts: Sequence[Text], questions: Sequence[AnsweredQuestion]) -> list[Article]:
    """Embed the passages, and the questions whose answer is within one sentence, article by article."""
    by_group: dict[str, list[int]] = {}
    for index, text in enumerate(texts):
        by_group.setdefault(text.group, []).append(index)
    by_text: dict[int, list[AnsweredQuestion]] = {}
    for question in questions:
        by_text.setdefault(question.text_index, []).append(question)
    return [
        article
        for indexes in by_group.values()
        if (article := _embed_article([(texts[index].text, by_text.get(index, [])) for index in indexes])) is not None
    ]


def _embed_article(passages: Sequence[tuple[str, Sequence[AnsweredQuestion]]]) -> Article | None:
    sentences: list[str] = []
    rows: list[range] = []
    question_texts: list[str] = []
    answers: list[tuple[int, int]] = []
    for number, (text, questions) in enumerate(passages):
        spans = sentence_spans(text)
        rows.append(range(len(sentences), len(sentences) + len(spans)))
        sentences += [text[start:end] for start, end in spans]
        for question in questions:
            within = [i for i, (start, end) in enumerate(spans) if start <= question.start and question.end <= end]
            if within:
                question_texts.append(question.question)
                answers.append((number, rows[number].start + within[0]))
    if not question_texts:
        return None
    return Article(embed_texts(sentences), rows, embed_texts(question_texts), answers)


def embed_texts(texts: Sequence[str]) -> Vectors:
    """Return the vectors of texts by the multilingual model, float32 (texts, dimensions)."""
    embedder = provider_factory.multilingual_embedder()
    starts = range(0, len(texts), _TEXTS_PER_CALL)
    return np.concatenate([embedder.embed(texts[start : start + _TEXTS_PER_CALL]) for start in starts])
