"""Groups of texts for questions written by hand, each answered by one of two passages that are as similar as possible.

A line of a file has an organisation (`org`), two passages (`titles`, `headings`, `texts`), and questions (`q`) with
the passage that answers each (`in`) and the words that do (`quote`, or a list of quotes). So neither the style of a
question nor its subject tells whether a quote answers it.
"""

import json
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.training.answer_check.pairs import compare
from benchmarks.training.answer_check.quotable import find_spans, is_held_out, quotable_texts, right_quote
from benchmarks.training.multilingual_check.groups import Group

Compare = Callable[[Sequence[str], Sequence[str]], NDArray[np.float32]]

# A second wrong quote is one of so many more of the twin, or the most similar other one of the same passage.
_MORE_OF_TWIN = 3
# How often a question has it, and how often it is of the same passage.
_SHARE_SECOND_WRONG, _SHARE_OF_PASSAGE = 0.6, 0.4


def read_twins(
    files: Sequence[Path], generator: random.Random, compare_texts: Compare = compare
) -> tuple[list[Group], list[Group]]:
    """Read the groups of each question: a right quote, and the most similar ones of the other passage.

    Args:
        files: The files.
        generator: Chooses among them.
        compare_texts: Returns how similar each question is to each text.

    Returns:
        The groups to train with, and those of the organisations that are held out.
    """
    trained: list[Group] = []
    held_out: list[Group] = []
    for file in files:
        for line in file.read_text().splitlines():
            twins = json.loads(line)
            groups = held_out if is_held_out(twins["org"]) else trained
            groups += _groups(twins, generator, compare_texts)
    return trained, held_out


def _groups(twins: dict[str, Any], generator: random.Random, compare_texts: Compare) -> Iterator[Group]:
    passages = zip(twins["titles"], twins["headings"], twins["texts"], strict=True)
    quotes = [
        quote
        for number, (title, heading, text) in enumerate(passages)
        for quote in quotable_texts(number, title=title, heading=heading, text=text, lang=twins["lang"])
    ]
    questions = twins["questions"]
    similarities = compare_texts([item["q"] for item in questions], [quote.text_to_read() for quote in quotes])
    for item, similarity in zip(questions, similarities, strict=True):
        spans = find_spans(twins["texts"][item["in"]], item["quote"])
        right = right_quote(quotes, item["in"], spans, generator)
        ranked = [quotes[index] for index in np.argsort(-similarity)]
        of_twin = [quote for quote in ranked if quote.passage != item["in"]]
        of_passage = [quote for quote in ranked if quote.passage == item["in"] and not quote.overlaps(spans)]
        if not right or not of_twin:
            continue
        wrong = of_twin[:1]
        if generator.random() < _SHARE_SECOND_WRONG:
            is_of_passage = generator.random() < _SHARE_OF_PASSAGE
            more = of_passage[:1] if is_of_passage else of_twin[1 : 1 + _MORE_OF_TWIN]
            wrong += generator.sample(more, min(1, len(more)))
        texts = [(right, True), *((quote, False) for quote in wrong)]
        yield Group(item["q"].strip(), [(quote.text_to_train(generator), is_right) for quote, is_right in texts])
