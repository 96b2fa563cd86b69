"""What a section adds to the best part."""

import pytest

from tests.support.passages import answer, passage

PLANS = "There are no plans to support phones officially."
LIMITS = "Phones have strict limits for background work, which makes it hard to run the client reliably."
APP = "However, an app by others works within the limits of these phones."
COST = "It is free, and its makers ask for donations."


def test_a_short_section_is_quoted_whole_if_the_best_part_says_little_of_what_is_asked() -> None:
    text = f"# Manual\n\n## Handhelds\n\n{PLANS}\n\n{LIMITS}\n\n{APP}\n\n{COST}\n\n## Sync\n\nFiles are copied."
    assert answer("Is my old tablet with background work usable?", passage(text)) == (
        f"{PLANS}\n{LIMITS}\n{APP}\n{COST} [1]"
    )
    assert answer("Why do phones have strict limits for background work?", passage(text)) == f"{LIMITS} [1]"


@pytest.mark.parametrize(
    "heading", ["## Is there a client for handhelds?", '## A client for handhelds?<a name="a"></a>', "## Handhelds"]
)
def test_the_first_paragraph_below_a_question_is_its_answer(heading: str) -> None:
    text = f"# Manual\n\n{heading}\n\n{PLANS}\n\n{LIMITS}\n\n{'The rest is long. ' * 60}"
    quoted = answer("Why do phones have strict limits for background work?", passage(text))
    assert quoted == (f"{PLANS}\n{LIMITS} [1]" if "?" in heading else f"{LIMITS} [1]")


def test_a_part_of_the_section_that_answers_nearly_as_well_is_quoted_too() -> None:
    old, new = "The kettle is cleaned with vinegar.", "A new kettle is cleaned with water."
    others = "Cups are washed by hand.\n\nTea is green.\n\nMilk is white."
    page = f"# Kitchen\n\n## Care\n\n{{}}\n\n{others}\n\n{{}}\n\n## Past\n\nA kettle was cleaned once."
    assert answer("How is the kettle cleaned?", passage(page.format(old, new))) == f"{old} [1] {new} [1]"
    long = f"The kettle is cleaned with {'very ' * 106}hot vinegar."
    assert answer("How is the kettle cleaned?", passage(page.format(long, new))) == f"{long} [1]"
    three, four = "The kettle is cleaned at 3:00.", "A new kettle is cleaned at 4:00."
    assert answer("When is the kettle cleaned?", passage(page.format(three, four))) == f"{three} [1]"
    equally_good = "Tea runs.\n\nTea hops.\n\nTea sits."
    assert answer("tea?", passage(equally_good)) == "Tea runs. [1]"


def test_an_option_is_quoted_with_what_it_does() -> None:
    text = (
        "OPTIONS\n\n       -l, --lock\n           Disable the account.\n\n           "
        "Users with a locked password cannot change their password.\n"
    )
    quoted = answer("How do I lock the password of users?", passage(text))
    assert quoted.startswith("-l, --lock: Disable the account.")
    assert "Users with a locked password cannot change their password." in quoted
