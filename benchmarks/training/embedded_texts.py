"""The token signatures of texts, by sentence, as the product stores them, and the token vectors of questions."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.training.questions import AnsweredQuestion, Text
from rag.providers import provider_factory
from rag.text.indexed_text import embedded_text
from rag.types.token_vectors import TokenSignatures, TokenVectors

_BATCH, _MIN_SENTENCE = 64, 12
# Paragraphs, items and rows end a sentence, too.
_BLOCK_END = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*+]|\d+[.)])\s)|\n(?=\|)")
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[\"'(\[]*[A-Z0-9*`])")


@dataclass(frozen=True, slots=True)
class EmbeddedText:
    """A passage.

    Attributes:
        group: Passages of the same group are about similar things.
        signatures: uint8 (tokens, dimensions / 8).
        sentences: The rows of the signatures of each sentence.
        spans: Where each sentence begins and ends, in characters.
    """

    group: str
    signatures: TokenSignatures
    sentences: list[NDArray[np.intp]]
    spans: list[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class EmbeddedQuestion:
    """A question: its token vectors (float32), the index of its text, and the sentences there that answer it."""

    token_vectors: TokenVectors
    text_index: int
    answers: list[int]


def embed_set(
    texts: Sequence[Text], questions: Sequence[AnsweredQuestion]
) -> tuple[list[EmbeddedText], list[EmbeddedQuestion]]:
    """Embed texts and the questions about them. Questions whose answer is not a whole sentence are left out."""
    embedder = provider_factory.local_embedder()
    embedded: dict[int, EmbeddedText] = {}
    order = sorted(
        range(len(texts)), key=lambda index: len(texts[index].text)
    )  # texts of a batch are of about one length
    for first in range(0, len(order), _BATCH):
        batch = order[first : first + _BATCH]
        contents = [embedded_text(texts[index].text, (), texts[index].title) for index in batch]
        _, signatures = embedder.embed_with_token_signatures(contents)
        for index, content, stored in zip(batch, contents, signatures, strict=True):
            embedded[index] = _by_sentence(texts[index], content, stored)
        if first % (_BATCH * 20) == 0:
            print(f"{first:,} of {len(texts):,} texts embedded", flush=True)
    results = []
    for question in questions:
        answers = _answering_sentences(embedded[question.text_index], question.start, question.end)
        if answers:
            vectors = embedder.embed_with_token_vectors(question.question)[1]
            results.append(EmbeddedQuestion(vectors, question.text_index, answers))
    return [embedded[index] for index in range(len(texts))], results


def _by_sentence(text: Text, content: str, signatures: TokenSignatures) -> EmbeddedText:
    offset = len(content) - len(text.text)
    tokens = [
        (start - offset, end - offset, row) for start, end, row in provider_factory.local_embedder().token_rows(content)
    ]
    spans, sentences = [], []
    for first, last in sentence_spans(text.text):
        rows = sorted({row for start, end, row in tokens if first <= start and end <= last})
        if rows:
            spans.append((first, last))
            sentences.append(np.array(rows, np.intp))
    return EmbeddedText(text.group, signatures, sentences, spans)


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Return where each sentence begins and ends, in characters. Very short ones are left out."""
    ends = sorted(
        {(match.start(), match.end()) for ending in (_BLOCK_END, _SENTENCE_END) for match in ending.finditer(text)}
    )
    starts = [0, *(end for _, end in ends)]
    spans = zip(starts, [*(start for start, _ in ends), len(text)], strict=True)
    return [(start, end) for start, end in spans if end - start >= _MIN_SENTENCE]


def _answering_sentences(text: EmbeddedText, start: int, end: int) -> list[int]:
    """Return the sentences of a section, or the one that has the answer."""
    within = [index for index, span in enumerate(text.spans) if start <= span[0] and span[1] <= end]
    return within or [index for index, span in enumerate(text.spans) if span[0] <= start and end <= span[1]]
