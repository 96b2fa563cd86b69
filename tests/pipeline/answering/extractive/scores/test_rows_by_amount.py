"""The row or item whose range has an amount of the question is quoted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.passages import answer, passage

LIMITS = (
    "# Approval\n\nWho approves an order depends on its value. It is approved by the person named here:\n\n"
    "| Order value | Approved by |\n| --- | --- |\n| up to 1,500 € | team leader |\n"
    "| over 1,500 € up to 15,000 € | head of department |\n| over 15,000 € | board |\n"
)
POSTAGE = "# Versand\n\n- bis 2 kg: 4,90 €\n- über 2 kg bis 10 kg: 8,90 €\n- über 10 kg: 14,90 €\n"
TICKETS = (
    "# Tickets\n\n| Age | Ticket |\n| --- | --- |\n| under 6 | free |\n| 6–14 | child |\n| 15 and over | adult |\n"
)


@pytest.mark.parametrize(
    ("text", "question", "row"),
    [
        (LIMITS, "Who approves an order of 1,500 €?", "team leader"),
        (LIMITS, "Who approves an order of 12,000 €?", "head of department"),
        (LIMITS, "My order is worth €40,000, who approves it?", "board"),
        (POSTAGE, "Was kostet der Versand von 5 kg?", "8,90 €"),
        (POSTAGE, "Was kostet der Versand von 12,5 kg?", "14,90 €"),
        (TICKETS, "Which ticket for a girl of 5 years?", "free"),
        (TICKETS, "Which ticket for my 9-year-old?", "child"),
    ],
)
def test_the_row_of_the_amount_is_quoted(text: str, question: str, row: str) -> None:
    others = {"team leader", "head of department", "board", "4,90 €", "8,90 €", "14,90 €", "free", "child", "adult"}
    quoted = answer(question, passage(text))
    assert row in quoted
    assert not any(other in quoted for other in others - {row} if other not in row)


def test_amounts_of_another_unit_choose_no_row() -> None:
    assert answer("Who approves an order of 20 kg?", passage(LIMITS)) == answer(
        "Who approves an order of 12 kg?", passage(LIMITS)
    )


def test_a_single_range_is_no_table_of_ranges() -> None:
    """What is said of all others may be in the other rows."""
    text = "| Kind | Limit |\n| --- | --- |\n| letters | up to 2 kg |\n| parcels | see the counter |\n"
    assert "parcels" in answer("Where can I send parcels of 1 kg?", passage(text))


HALLS = (
    "| Hall | Size |\n| --- | --- |\n| Oslo | up to 10 people |\n| Rome | up to 20 people |\n"
    "| Paris | up to 50 people |\n"
)
PLANS = (
    "| Plan | Weight | Price |\n| --- | --- | --- |\n| Gold | up to 10 kg | 17 € |\n"
    "| Silver | over 10 kg up to 30 kg | 44 € |\n| Bronze | over 30 kg up to 60 kg | 66 € |\n"
    "| Basic | over 60 kg | 56 € |\n"
)
PARCELS = (
    "| Weight | Distance | Price |\n| --- | --- | --- |\n| up to 10 kg | up to 100 km | 4 € |\n"
    "| up to 10 kg | over 100 km | 8 € |\n| over 10 kg | up to 100 km | 9 € |\n| over 10 kg | over 100 km | 16 € |\n"
)
COVERS = (
    "| Cover | Premium |\n| --- | --- |\n| up to 100 € | from 10 € |\n| over 100 € up to 1,000 € | from 40 € |\n"
    "| over 1,000 € | from 90 € |\n"
)
DEDUCTIBLES = (
    "| Cover | Deductible |\n| --- | --- |\n| up to 100 € | up to 10 € |\n"
    "| over 100 € up to 1,000 € | up to 40 € |\n| over 1,000 € | up to 90 € |\n"
)
WEATHER = "| Weather | Wear |\n| --- | --- |\n| below 0 °C | coat |\n| 0–10 °C | jacket |\n| over 10 °C | shirt |\n"


@pytest.mark.parametrize(
    ("text", "question", "row"),
    [
        (HALLS, "Does Oslo fit 15 people?", "Oslo"),
        (HALLS, "Can 30 people meet in Rome?", "Rome"),
        (PLANS, "Can I send 50 kg with Silver?", "Silver"),
        (PARCELS, "What does a parcel of 5 kg cost over 300 km?", "8 €"),
        (PARCELS, "What does a parcel of 20 kg cost over 300 km?", "16 €"),
        (COVERS, "What is the premium for a cover of 500 €?", "from 40 €"),
        (DEDUCTIBLES, "What is the deductible for a cover of 500 €?", "up to 40 €"),
        (WEATHER, "What should I wear at -5 °C?", "coat"),
        (WEATHER, "What should I wear at minus 5 °C?", "coat"),
        (LIMITS, "Who approves an order of €20k?", "board"),
        (LIMITS, "Who approves an order of € 2 million?", "board"),
    ],
)
def test_named_rows_several_amounts_signs_and_large_numbers(text: str, question: str, row: str) -> None:
    quoted = answer(question, passage(text))
    assert row in quoted
    others = {
        "Oslo",
        "Rome",
        "Paris",
        "16 €",
        "coat",
        "jacket",
        "shirt",
        "team leader",
        "head of",
        "from 10",
        "from 90",
        "to 90",
    }
    assert not any(other in quoted for other in others - {row} if other not in question)


@given(
    st.sampled_from([LIMITS, HALLS, PLANS, PARCELS, COVERS]),
    st.integers(0, 70),
    st.sampled_from(["€", "kg", "km", "people"]),
)
def test_an_answer_has_a_row(text: str, value: int, unit: str) -> None:
    for name in ("", "Silver", "Gold", "Paris", "Rome and Basic"):
        assert answer(f"What about {value} {unit} with {name}?", passage(text))
