"""Pairs of a question and a quote, and whether the quote answers it, from files that have both."""

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rag.text.citation_markers import remove_markers

# An answer of the product begins with its quotes.
_MAX_ANSWER_CHARACTERS, _MIN_ANSWER_CHARACTERS = 420, 15
_SHARE_WITH_TITLE = 0.3


@dataclass(frozen=True, slots=True)
class Pair:
    """A question, a quote, and whether the quote answers the question."""

    question: str
    quote: str
    is_right: bool


def read_judged(file: Path) -> list[Pair]:
    """Read answers that people judged. Of each only the beginning is used, without its citations.

    Args:
        file: Lines {"question", "answer", "is_right"}. A line that is there twice counts twice.
    """
    pairs = []
    for line in file.read_text().splitlines():
        judged = json.loads(line)
        answer = remove_markers(judged["answer"]).strip()[:_MAX_ANSWER_CHARACTERS]
        if len(answer) >= _MIN_ANSWER_CHARACTERS:
            pairs.append(Pair(judged["question"].strip(), answer, bool(judged["is_right"])))
    return pairs


def read_selqa(file: Path, generator: random.Random) -> list[Pair]:
    """Read questions of SelQA (Jurczyk et al. 2016), each with a sentence that answers it and one that does not.

    The wrong one shares the most words with the question, and is not beside a right one.
    """
    pairs = []
    for item in json.loads(file.read_text()):
        sentences, right = [" ".join(sentence.split()) for sentence in item["candidates"]], set(item["answers"])
        if not right:
            continue
        question = item["question"].strip()
        answer = sentences[generator.choice(sorted(right))]
        pairs.append(Pair(question, with_title(answer, item["article"], generator, _SHARE_WITH_TITLE), True))
        words = set(question.lower().split())
        beside = {index + step for index in right for step in (-1, 0, 1)}
        others = [sentence for index, sentence in enumerate(sentences) if index not in beside]
        if others:
            wrong = max(others, key=lambda sentence: len(words & set(sentence.lower().split())))
            pairs.append(Pair(question, wrong, False))
    return pairs


def with_title(quote: str, title: str, generator: random.Random, share: float) -> str:
    """Return the quote, now and then below the title of its text.

    Args:
        quote: The quote.
        title: The title of its text.
        generator: Decides.
        share: How often the title is shown, 0 to 1.
    """
    return f"{title}\n{quote}" if generator.random() < share else quote


def compare(questions: Sequence[str], texts: Sequence[str]) -> NDArray[np.float32]:
    """Return the cosine similarity of each question (rows) and each text (columns), by the local model."""
    from rag.providers import provider_factory  # it needs Django

    embedder = provider_factory.local_embedder()
    similarities: NDArray[np.float32] = embedder.embed(questions) @ embedder.embed(texts).T
    return similarities
