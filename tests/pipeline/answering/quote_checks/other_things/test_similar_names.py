"""Which quotes are about a thing whose name has another number: LS 4 instead of LS 8."""

import pytest

from rag.pipeline.answering.quote_checks.other_things.similar_names import has_other_number, has_similar_name
from tests.support.checks.growth import takes_linear_time


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("maximum load of the LS 8", '- LS 4 "Milan" — load: 110 kg'),
        ("What is the price of the Tarn 7?", "- Tarn 5 — price: 890 €"),
        ("Wie viele Betten hat Station 12?", "Station 11: 24 Betten"),
        ("Quel est le prix en Zone 3 ?", "Zone 1 : 2 euros"),
    ],
)
def test_another_number_is_another_thing(question: str, text: str) -> None:
    assert has_other_number(text, question)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("maximum load of the LS 8", "- LS 4 and LS 8 — load: 110 kg"),
        ("maximum load of the LS 8", "LS 4 to LS 9: 110 kg"),
        ("maximum load of the LS 8", "LS 4 – LS 9: 110 kg"),
        ("maximum load of the LS 8", "The LS-8 bears 110 kg, the LS 4 does not."),
        ("maximum load of the LS 8", "The gliders bear 110 kg."),
        ("Does the LS 8 have an engine?", "The LS 4 has one."),
        ("What replaced the LS 8?", "The LS 4 is its successor."),
        ("When does the hall open on June 18?", "June 20: the hall opens at 10."),
        ("What did it cost in Spring 2024?", "Spring 2025: 10 euros"),
        ("Which Python 3 do I need?", "Python 3.11"),
        ("Was kostet eine Tonne 60 Liter?", "Tonne 80 Liter: 5 Euro"),
        ("Is it closed on Monday 3 or Tuesday 4?", "Monday 5: open"),
    ],
)
def test_the_same_number_a_range_and_no_name_are_not(question: str, text: str) -> None:
    assert not has_other_number(text, question)


def test_the_mark_of_a_list_is_no_dash_of_a_range() -> None:
    assert has_similar_name("- Tarn 5", "Tarn 7")
    assert has_similar_name("Price list\n- Tarn 5", "Tarn 7")
    assert not has_similar_name("Tarn 4 - Tarn 9", "Tarn 7")
    assert not has_similar_name("models 4-Tarn 9", "Tarn 7")


@pytest.mark.parametrize("part", ["Tarn 5 ", "- ", "A", "a1", "Tarn ", "Tarn-"])
def test_long_texts_take_linear_time(part: str) -> None:
    def text_of(length: int, attempt: int) -> str:
        return f"{attempt} " + part * (length // len(part))

    assert takes_linear_time(lambda text: has_other_number(text, "price of the Tarn 7"), text_of, 40_000)
    assert takes_linear_time(lambda text: has_other_number("Tarn 5", text), text_of, 40_000)
