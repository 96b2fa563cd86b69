"""Answers to questions about the difference between two things."""

import pytest

from rag.pipeline.answering.extractive.question.question_type import compared_things
from tests.support.passages import answer, passage

SIMPLE, STAGGERED = "Five old versions are kept.", "Versions are kept in intervals that grow."
BOTH = "With simple versioning and with staggered versioning, old files are moved to a folder."
QUESTION = "What is the difference between simple and staggered versioning?"


@pytest.mark.parametrize(
    ("question", "things"),
    [
        (QUESTION, ("simple", "staggered versioning")),
        ("Was ist der Unterschied zwischen Archiv und Ablage?", ("Archiv", "Ablage")),
        ("How does a page differ from an article?", ("a page", "an article")),
        ("Che differenza c'è? La differenza tra archivio e deposito?", ("archivio", "deposito")),
        ("Qual é a diferença entre arquivo e depósito?", ("arquivo", "depósito")),
        ("Wat is het verschil tussen archief en opslag?", ("archief", "opslag")),
        ("Is it different?", ()),
    ],
)
def test_the_compared_things_are_read_from_the_question(question: str, things: tuple[str, ...]) -> None:
    assert compared_things(question) == things


def test_the_sections_of_both_things_are_quoted_rather_than_one_that_names_both() -> None:
    simple = f"# Versions\n\n{BOTH}\n\n## Simple versioning\n\n{SIMPLE}"
    staggered = f"# Versions\n\n## Staggered versioning\n\n{STAGGERED}"
    assert answer(QUESTION, passage(simple), passage(staggered)) == f"{SIMPLE} [1] {STAGGERED} [2]"


def test_without_such_sections_the_explanations_of_both_are_quoted() -> None:
    archive, repository = "An archive is the result of one backup.", "Repositories are folders that store archives."
    text = f"# Basics\n\nThe time of an archive and its repository differ.\n\n{archive}\n\n{repository}"
    quoted = answer("What is the difference between an archive and a repository?", passage(text))
    assert quoted == f"{archive}\n{repository} [1]"


def test_explanations_are_quoted_rather_than_sections_in_passages_that_rank_lower() -> None:
    kinds = "There are two kinds.\n\n- Simple versioning keeps five.\n- Staggered versioning keeps some of each week."
    simple = "# How to\n\n## Simple versioning\n\nOpen the menu."
    staggered = "# How to\n\n## Staggered versioning\n\nEnter a number."
    quoted = answer(QUESTION, passage(f"# Versions\n\n{kinds}"), passage(simple), passage(staggered))
    assert "keeps five" in quoted
    assert "keeps some of each week" in quoted
    assert "menu" not in quoted


def test_a_section_that_is_named_after_one_thing_alone_is_not_the_answer() -> None:
    text = f"# Versions\n\n## What is the difference between simple and no versioning?\n\n{SIMPLE}\n\n## More\n\n{BOTH}"
    assert answer(QUESTION, passage(text)) == f"{BOTH} [1]"
