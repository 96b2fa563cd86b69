"""Extractive answers from sections that have several paragraphs, or sections within them."""

import pytest

from tests.support.passages import answer, passage

INTRODUCTION = "Boats are kept in the shed beside the lake. The shed is locked at night. "
COMMANDS = "Open the shed like this:\n\n```\nshed --open\n```"


def test_paragraphs_that_continue_the_best_one_are_quoted_too_if_the_question_is_broad() -> None:
    page = passage(
        "## Keep a list\n\nOnce a list of cups is complete, it can be kept.\n\nTo do so, open the drawer.\n\n"
        "Then press the bookmark.\n\nTea is green.\n\nMilk is white."
    )
    kept = "Once a list of cups is complete, it can be kept."
    assert answer("How do I keep a list of cups?", page) == (
        f"{kept}\nTo do so, open the drawer.\nThen press the bookmark. [1]"
    )
    assert answer("Can I keep a list of cups?", page) == f"{kept} [1]"


def test_a_paragraph_that_refers_to_the_one_before_it_is_quoted_with_it() -> None:
    page = passage("## Drawers\n\nTurn the brass key twice.\n\nWith this open, take the cups out of the drawer.")
    both = "Turn the brass key twice.\nWith this open, take the cups out of the drawer. [1]"
    assert answer("How do I take the cups out of the drawer?", page) == both


def test_one_paragraph_about_something_else_may_be_between_two_about_what_is_asked() -> None:
    page = passage(
        "## Bells\n\nThe house has a lot of bells.\n\nYou may paint your own.\n\nThere are two kinds of bells:\n\n"
        "- loud ones\n- soft ones"
    )
    assert answer("What bells are there?", page) == (
        "The house has a lot of bells.\nYou may paint your own.\nThere are two kinds of bells:\n"
        "- loud ones\n- soft ones [1]"
    )


@pytest.mark.parametrize("question", ["How do I open the shed?", "The shed is locked, how do I open it?"])
def test_commands_far_below_the_first_paragraph_are_quoted_with_it(question: str) -> None:
    paragraphs = "\n\n".join(f"{INTRODUCTION}{'Nobody sails in winter. ' * 10}" for _ in range(4))
    page = passage(f"## How do I open the shed?\n\n{paragraphs}\n\n{COMMANDS}")
    quoted = answer(question, page)
    assert quoted.startswith("Boats are kept")
    assert quoted.endswith("Open the shed like this:\n```\nshed --open\n```\n[1]")
    assert len(quoted) < 1_100


def test_steps_are_quoted_with_the_steps_before_them() -> None:
    steps = [
        f"{number}. Turn wheel {number} of the mill until it stops, and wait. {'x' * 150}" for number in range(1, 7)
    ]
    page = passage("## Mill\n\n" + "\n".join(steps))
    assert answer("How do I turn wheel 4 of the mill?", page).startswith("Mill:\n1. Turn wheel 1")


def test_the_sections_within_a_section_that_only_introduces_them_are_quoted_with_it() -> None:
    intro, bell, lamp = "Limits are set in two places.", "Set the limit of the bell:", "Set the limit of the lamp:"
    outer = passage(f"## Limits\n\n{intro}", headings=("Manual", "Limits"), relevance=0.9)
    inner = passage(f"### Bell\n\n{bell}\n\n1. Ring it.", headings=("Manual", "Limits", "Bell"), relevance=0.8)
    prose = passage("### Lamp\n\nIt has no limit.", headings=("Manual", "Limits", "Lamp"), relevance=0.7)
    other = passage(f"## Lamps\n\n{lamp}\n\n1. Turn it.", headings=("Manual", "Lamps"), relevance=0.7)
    quoted = answer("How do I set the limits?", outer, prose, inner, other)
    assert quoted == f"{intro} [1]\n{bell}\n1. Ring it. [3]"
    title = passage(f"# Manual\n\n{intro}", headings=("Manual",), relevance=0.9)
    assert answer("How do I set the limits?", title, inner) == f"{intro} [1]"


def test_a_passage_that_is_hardly_less_relevant_is_preferred_only_if_it_says_more() -> None:
    best = passage("The porter rings the bell of the hall.", relevance=0.999)
    other = passage("The porter rings the old bell of the hall at noon.", relevance=0.99)
    assert answer("Does the porter ring the old bell of the hall?", best, other).endswith("[1]")
    assert answer("Does the porter ring the old bell at noon?", best.copy_with(relevance=0.99), other).endswith("[2]")


def test_a_request_for_an_example_is_answered_with_the_example() -> None:
    code = "```\n" + "\n".join(f"ring(loud=True, times={number})" for number in range(20)) + "\n```"
    page = passage(f"## Bell\n\nThis example rings the bell. Stand below it, and call:\n\n{code}")
    whole = f"This example rings the bell. Stand below it, and call:\n{code}\n[1]"
    assert answer("Show me an example that rings the bell", page) == whole
