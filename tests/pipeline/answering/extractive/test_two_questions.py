"""Answers to two questions in one."""

from typing import Any

import pytest

from rag.pipeline.answering.extractive.extract import quote_answer, render_quotes
from rag.pipeline.answering.extractive.question.question_type import divide_question

from .test_extract import passage

LOGS = "# Logs\n\n## Where are the log files?\n\nThey are in the folder logs."
LEVEL = "# Logs\n\n## How do I set the log level?\n\nSet LOG_LEVEL.\n\n## How do I delete old log files?\n\nCall prune."
BOTH = "Where are the log files, and how do I set the log level?"


@pytest.fixture(autouse=True)
def words_only(settings: Any) -> None:
    settings.RAG_TOKEN_SIGNATURES = "off"


def answer(question: str, *texts: str) -> str:
    passages = [passage(text) for text in texts]
    return render_quotes(quote_answer(question, passages, passages), lambda number, _: f"[{number}]")


@pytest.mark.parametrize(
    ("question", "halves"),
    [
        (BOTH, ("Where are the log files", "how do I set the log level?")),
        ("Where are the logs? Can I delete them?", ("Where are the logs", "Can I delete them?")),
        ("Wo liegen die Protokolle und wie löscht man sie?", ("Wo liegen die Protokolle", "wie löscht man sie?")),
        ("Who can see and who can delete?", ("Who can see", "who can delete?")),
        ("How do I add a member and a team?", ()),
        ("What is it and where is it?", ()),
        ("Where is it, and what is a log, and why?", ()),
    ],
)
def test_only_two_whole_questions_are_divided(question: str, halves: tuple[str, ...]) -> None:
    assert divide_question(question) == halves


def test_both_sections_are_quoted_in_the_order_of_the_questions() -> None:
    assert answer(BOTH, LEVEL, LOGS) == "They are in the folder logs. [2] Set LOG_LEVEL. [1]"


def test_one_section_that_answers_both_is_quoted_once() -> None:
    text = "# Logs\n\n## Where are the log files, and how do I set the log level?\n\nIn logs; set LOG_LEVEL."
    assert answer(BOTH, text) == "In logs; set LOG_LEVEL. [1]"


def test_without_a_section_for_each_the_best_one_is_quoted() -> None:
    question = "Where are the log files, and how are zebras painted?"
    assert answer(question, LEVEL, LOGS) == "They are in the folder logs. [2]"
