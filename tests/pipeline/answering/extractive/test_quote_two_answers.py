"""Quotes for two questions in one."""

from typing import Any

import pytest

from rag.pipeline.answering.extractive.quote_two_answers import quote_answer
from rag.pipeline.answering.extractive.render_quotes import render_quotes
from rag.types import SearchedQuestion
from tests.support.passages import passage

LOGS = "# Logs\n\n## Where are the log files?\n\nThey are in the folder logs."
LEVEL = "# Logs\n\n## How do I set the log level?\n\nSet LOG_LEVEL.\n\n## How do I delete old log files?\n\nCall prune."
BOTH = ("Where are the log files, and how do I set the level?", "Where are the log files", "how do I set the level?")


@pytest.fixture(autouse=True)
def words_only(settings: Any) -> None:
    settings.RAG_TOKEN_SIGNATURES = "off"


def answer(questions: tuple[str, ...], *texts: str) -> str:
    """Answer a question and the two that it consists of, each of which finds the passages in another order."""
    passages = [passage(text) for text in texts]
    orders = (passages, passages, passages[::-1])[: len(questions)]
    searched = [SearchedQuestion(text, tuple(order)) for text, order in zip(questions, orders, strict=True)]
    return render_quotes(quote_answer(questions[0], passages, passages, searched), lambda number, _: f"[{number}]")


def test_both_answers_are_quoted_in_the_order_of_the_questions() -> None:
    assert answer(BOTH, LOGS, LEVEL) == "They are in the folder logs. [1] Set LOG_LEVEL. [2]"


def test_a_second_question_that_cannot_be_searched_alone_is_part_of_the_whole() -> None:
    assert answer(("Where are the log files, and how do I get more?", "Where are the log files"), LOGS, LEVEL) == (
        "They are in the folder logs. [1]"
    )


def test_an_answer_to_both_is_quoted_once() -> None:
    both = "# Logs\n\n## Where are the log files, and how do I set the level?\n\nIn logs; set LOG_LEVEL."
    assert answer(BOTH, both, LEVEL) == "In logs; set LOG_LEVEL. [1]"


def test_two_sections_of_one_passage_are_both_quoted() -> None:
    assert answer(BOTH, LOGS + LEVEL.removeprefix("# Logs")) == "They are in the folder logs. [1] Set LOG_LEVEL. [1]"


def test_sentences_of_texts_without_sections_are_not_quoted_for_each_question() -> None:
    texts = ("The log files are in the folder logs.", "People set the level with LOG_LEVEL.")
    assert answer(BOTH, *texts).count("[") == 1
