"""What the answer to a question is expected to have."""

import pytest

from rag.pipeline.answering.extractive.expected_answers import ExpectedAnswer, expected_answer, has_expected


@pytest.mark.parametrize(
    ("question", "expected", "answer", "other"),
    [
        (
            "When are claims paid?",
            ExpectedAnswer.TIME,
            "Claims are paid on the 25th.",
            "A kilometre is paid with 0.30.",
        ),
        ("Wann ist Markt?", ExpectedAnswer.TIME, "Jeden Dienstag auf dem Platz.", "Er hat 40 Stände."),
        ("How long is the warranty?", ExpectedAnswer.DURATION, "It is three years.", "It covers 200 parts."),
        ("What does a cup cost?", ExpectedAnswer.PRICE, "A cup is two euros.", "A cup holds 0.2 litres."),
        ("Combien coûte le café ?", ExpectedAnswer.PRICE, "Le café est à 3 €.", "Il y a 3 cafés."),
        ("How many keys are there?", ExpectedAnswer.NUMBER, "There are twelve keys.", "1. Take the key."),
    ],
)
def test_a_part_has_what_the_question_asks_for(
    question: str, expected: ExpectedAnswer, answer: str, other: str
) -> None:
    assert expected_answer(question) is expected
    assert has_expected(answer, expected)
    assert not has_expected(other, expected)


def test_other_questions_expect_nothing() -> None:
    assert expected_answer("How do I make tea?") is None
