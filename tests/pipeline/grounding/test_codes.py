"""Questions about a code that the passages do not have, only others of its series."""

import pytest

from rag.pipeline.grounding.assess_grounding import assess_grounding
from rag.pipeline.grounding.gaps import asks_about_other_code
from rag.types import Context
from tests.support.checks.growth import takes_linear_time
from tests.support.passages import passage, passages

TABLE = "| code | meaning |\n| --- | --- |\n| E-11 | The door is open. |\n| E-12 | The filter is full. |"


@pytest.mark.parametrize(
    ("question", "text", "is_other"),
    [
        ("What does error E-27 mean?", TABLE, True),
        ("display shows e-27", TABLE, True),
        ("What does E-12 mean?", TABLE, False),
        ("What does e12 mean?", TABLE, False),
        ("What does E-12 mean?", "Error E12: the filter is full. Error E14: the door is open.", False),
        ("What does E-12 mean?", "Error E 12: the filter is full. Error E-14: the door is open.", False),
        ("When does the N2 night bus leave?", "The N1 and N3 leave at night.", True),
        ("When does bus N2 leave?", "The N1 and N3 leave at night.", True),
        ("When does bus N1 leave?", "The N1 and N3 leave at night.", False),
        ("When does bus N2 leave?", "The buses N1 to N4 leave at night, N9 in the morning.", False),
        ("When does bus N2 leave?", "The buses N1 through N4 leave at night, N9 in the morning.", False),
        # Without a word for the series it may be anything
        ("What paper size is A4?", "Posters are A2 or A3. The default paper is 210 x 297 mm.", False),
        ("How was Q2?", "Q1 and Q3 were bad. The second quarter was good.", False),
        # One of two is enough
        ("What is the difference between E-11 and E-27?", TABLE, False),
        # The passages have no such series
        ("Can I connect a GPT-9 model?", TABLE, False),
        ("How do I clean the filter?", TABLE, False),
        # A size, a format and an amount are no codes
        ("How many m2 does the MP3 player need for 20 files?", "A room has 12 m3, and an MP4 player.", False),
        # A compound, a suffix, or another number of digits
        ("Was bedeutet die E-12-Meldung?", TABLE, False),
        ("How many HX500s do I need?", "HX500 and HX600 are sold in packs.", False),
        ("What does E-5 mean?", "| E-05 | door |\n| E-06 | filter |", False),
        ("What does E-27 mean?", f"{TABLE}\n\nSee page 27.", True),
        ("What does E-1 mean?", TABLE, True),
        # A single one is a limit or a version, and a range has others
        ("Does the app run on iOS17?", "It needs iOS15 or later.", False),
        ("Which floor is room B12 on?", "Rooms B10 to B19 are on the second floor. Room C20 is upstairs.", False),
        # The code only describes the occasion
        ("I have the washer E-270, bought in May. What does the display say if the filter is full?", TABLE, False),
        ("The filter is full, so what does E-27 mean?", TABLE, True),
    ],
)
def test_only_a_code_that_is_asked_for_counts(question: str, text: str, is_other: bool) -> None:
    assert asks_about_other_code(question, passages("The washer is in the cellar.", text)) is is_other


def test_a_question_about_another_code_is_not_groundable() -> None:
    washer = passage(TABLE, title="Error codes of the washer", coverage=1.0, score=0.9)
    context = Context("", (washer,), 0)
    known, other = (
        assess_grounding(f"What does error code {code} of the washer mean?", context) for code in ("E-12", "E-27")
    )
    assert (known.is_groundable, other.is_groundable) == (True, False)
    assert other.gaps == ("E-27",)


@pytest.mark.parametrize("part", ["a", "a-", "a1", "a-1", "E-12 ", "é", "_a"])
def test_codes_are_found_in_linear_time(part: str) -> None:
    def look(text: str) -> bool:
        return asks_about_other_code("What is E-99?", passages(text))

    assert takes_linear_time(look, lambda length, attempt: (part * length)[:length] + f" E-{attempt}", 60_000)
