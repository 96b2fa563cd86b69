"""Answers from an FAQ whose lines are labelled: `Q: …` above `A: …`."""

import pytest

from tests.support.passages import answer, passage

FAQ = """\
Q: Do dogs pay for a crossing?
A: Dogs travel free of charge.

Q: May I bring my bicycle?
A: Bicycles are parked on the lower deck.

Q: Where is the café?
A: R. Miller runs it on the upper deck.
"""


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Do dogs pay?", "Dogs travel free of charge. [1]"),
        ("May I bring a bicycle?", "Bicycles are parked on the lower deck. [1]"),
        ("Where is the café?", "R. Miller runs it on the upper deck. [1]"),
    ],
)
def test_the_answer_is_quoted_without_the_question_and_labels(question: str, expected: str) -> None:
    assert answer(question, passage(FAQ)) == expected
    french = passage(FAQ.replace("Q:", "**Question 1 :**").replace("A:", "Réponse :"))
    assert answer(question, french) == expected
    unlabelled = passage(FAQ.replace("Q: ", "").replace("A: ", ""))
    assert answer(question, unlabelled) == expected


def test_letters_of_a_list_stay_in_an_answer() -> None:
    text = "Which deck is open?\n\nA: the upper deck, where the café is.\n"
    assert "A: the upper deck" in answer("Which deck has the café?", passage(text))
