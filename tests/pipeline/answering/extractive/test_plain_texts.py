"""Extractive answers from READMEs in reStructuredText, manual pages and lists of questions."""

import pytest

from rag.pipeline.answering.extractive.extract import extract_quotes
from tests.support.passages import answer, passage

FAQ = """\
 1. Where can I get a kettle?

    In the kitchen.

 2. The kettle returns E_BOIL.

    Make sure that the lid is closed.

 3. I have a question about cups.

    Ask the porter.
"""


def test_a_sentence_is_quoted_with_the_code_that_it_introduces() -> None:
    page = passage(
        "Tea\n---\n\nTea is made by default. In order to stop the tea timer call::\n\n    tea.stop = 1\n\nBye."
    )
    assert answer("How can I stop the tea timer?", page) == (
        "Tea is made by default. In order to stop the tea timer call:\n```\ntea.stop = 1\n```\nBye. [1]"
    )


def test_an_explanation_is_quoted_with_its_term() -> None:
    page = passage("groups\n\nsudo\n   Members of this group run any command. They are few.\n\nadm\n   It reads logs.")
    assert answer("Who may run any command?", page) == (
        "sudo: Members of this group run any command. They are few. [1]"
    )


def test_a_term_does_not_name_what_follows_its_explanation() -> None:
    page = passage(
        "Groups of the kitchen\n\ncooks\n   They stir.\n\n   They also taste.\n\nThe porter keeps all the keys."
    )
    assert answer("Who keeps the keys?", page) == "The porter keeps all the keys. [1]"
    assert answer("Who may taste also?", page).startswith("cooks: ")


def test_numbered_lines_next_to_numbered_questions_are_headings() -> None:
    assert answer("What does E_BOIL mean?", passage(FAQ)) == "Make sure that the lid is closed. [1]"


@pytest.mark.parametrize(
    "title",
    [
        *(f"{number} Lease and notice" for number in ("§ 10", "10.", "Article 10", "Artikel 10", "Section 10.2")),
        *("Article 10 – Lease and notice", "Article 10 – lease and notice"),
    ],
)
def test_a_numbered_title_is_not_an_answer(title: str) -> None:
    page = passage(f"{title}\n\nIt runs for a year. You leave within a month.\n\nTea is free.")
    assert answer("Notice of the lease", page).startswith("It runs for a year.")


def test_a_heading_directly_above_another_one_selects_what_is_below_both() -> None:
    page = passage(
        "How to avoid cold tea\n=====================\n\nTips\n----\n\n* Hurry\n* Wait\n\n"
        "Others\n------\n\nThey say that they avoid cold tea."
    )
    assert answer("How do I avoid cold tea?", page).startswith("Tips:\n* Hurry\n* Wait")


def test_a_second_question_about_the_answer_is_answered_by_what_follows() -> None:
    page = passage("## Cleaning\n\nThe kettle is cleaned every week.\n\nSet `days` in the file.\n\n## Other\n\nTea.")
    first = "The kettle is cleaned every week."
    assert answer("How often is the kettle cleaned?", page) == f"{first} [1]"
    assert answer("How often is the kettle cleaned, and how do I change that?", page) == (
        f"{first}\nSet `days` in the file. [1]"
    )


def test_a_paragraph_is_quoted_up_to_the_number_that_is_asked_for() -> None:
    end = "Read the manual once at the start, because nobody has anything better to do than that. " * 4
    page = passage(
        f"The time that the kettle keeps the water warm. Old ones differ. Defaults to 20 minutes. {end}\n\nTea."
    )
    assert answer("How long does the kettle keep the water warm?", page).startswith(
        "The time that the kettle keeps the water warm. Old ones differ. Defaults to 20 minutes."
    )


def test_a_list_of_names_is_no_section_that_answers() -> None:
    page = passage("## Kettle\n\nboil(), stop(), Lid\n\n## Use\n\nThe kettle is switched on by its red button.")
    assert answer("How do I use the kettle?", page).startswith("The kettle is switched on")


def test_a_part_of_the_best_passage_is_preferred() -> None:
    """To one of another passage that has the same words and, as an instruction should, a command."""
    best = passage("Clean the cups with hot water.\n\nTea is green.")
    other = passage("Clean the cups with hot water:\n```\nclean --hot\n```\n\nMilk is white.")
    assert answer("How do I clean the cups?", best, other) == "Clean the cups with hot water. [1]"


def test_a_wrapped_line_that_begins_with_a_word_and_a_colon_is_no_label() -> None:
    lines = (
        "A box of tea with the same label as another one in the cellar (for the",
        "API: the same `path`) is put into its place, and the other one is thrown away.",
    )
    page = passage("## Boxes\n\n" + "\n".join(lines))
    assert answer("What happens to a box with the same label?", page) == f"{' '.join(lines)} [1]"


MINUTES = (
    "# Club\n\n**1. Roof.** The roof was painted red, and took two weeks. Tiles are paid by Ada.\n\n"
    "**2. Summer party.** In the barn at the lake, on 4 July. Meat is paid by Bo, who was put in his place.\n\n"
    "**3. Boats.** Two were sold in his place on 3 May. No party was held there in the summer."
)


@pytest.mark.parametrize(
    "question",
    [
        "Where and when does the summer party take place?",
        "When is the summer party taking place?",
        "Wo und wann findet die summer party statt?",
        "Où et quand aura lieu la summer party?",
        "¿Dónde y cuándo tendrá lugar la summer party?",
    ],
)
def test_a_numbered_title_in_bold_stands_above_its_paragraph(question: str) -> None:
    """To take place is to happen, whatever else has a place."""
    (best, *_) = extract_quotes(question, [passage(MINUTES)])
    assert best.text.startswith("**2. Summer party.** In the barn at the lake, on 4 July.")
    assert best.heading == "**2. Summer party.**"
