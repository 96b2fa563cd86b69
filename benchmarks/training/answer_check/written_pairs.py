"""Groups of texts for questions written by hand about invented documents: answers, and sentences that are none.

A line of a file has a passage (`org`, `lang`, `title`, `heading`, `text`), questions that it answers (`answered`: `q`
and `quote`, or a list of quotes), and questions about the same thing that it does not answer (`near`: `q`).
"""

import json
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.training.answer_check.pairs import compare
from benchmarks.training.answer_check.quotable import find_spans, is_held_out, quotable_texts, right_quote
from benchmarks.training.multilingual_check.groups import Group

# Wrong quotes are the most similar one of the passage, and one among so many more of it and of others.
_MORE_OF_PASSAGE, _MORE_OF_OTHERS = 2, 1
# How often an answered question has the second one.
_SHARE_SECOND_WRONG = 0.5
# A quote of another passage that is more similar than that to an answered question may answer it, too.
_MAX_SIMILARITY_OF_OTHERS = 0.75


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


def _groups(passages: Sequence[dict[str, Any]], generator: random.Random, lang: str) -> Iterator[Group]:
    quotes = [
        quote
        for number, passage in enumerate(passages)
        for quote in quotable_texts(
            number,
            title=passage["title"],
            heading=passage["heading"],
            text=passage["text"],
            lang=passage["lang"],
        )
    ]
    questions = [
        (number, item["q"].strip(), item.get("quote", ()))
        for number, passage in enumerate(passages)
        for item in (*passage["answered"], *passage["near"])
        if item.get("lang", lang) == lang
    ]
    similarities = compare([question for _, question, _ in questions], [quote.text_to_read() for quote in quotes])
    for (number, question, answer), similarity in zip(questions, similarities, strict=True):
        spans = find_spans(passages[number]["text"], answer)
        ranked = [(quotes[index], similarity[index]) for index in np.argsort(-similarity)]
        of_passage = [quote for quote, _ in ranked if quote.passage == number and not quote.overlaps(spans)]
        highest = _MAX_SIMILARITY_OF_OTHERS if spans else 1
        others = [quote for quote, value in ranked if quote.passage != number and value < highest]
        right = right_quote(quotes, number, spans, generator) if spans else None
        if spans and not right:
            continue
        more = of_passage[1 : 1 + _MORE_OF_PASSAGE] + others[:_MORE_OF_OTHERS]
        wrong = of_passage[:1]
        if more and (not spans or generator.random() < _SHARE_SECOND_WRONG):
            wrong.append(generator.choice(more))
        texts = [*((quote, True) for quote in [right] if quote), *((quote, False) for quote in wrong)]
        yield Group(question, [(quote.text_to_train(generator), is_right) for quote, is_right in texts])
