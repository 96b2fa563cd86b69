"""The values that a text states."""

import pytest

from rag.text.quantities.stated_values import DATE, TIME_OF_DAY, WEEKDAY, find_values
from tests.support.checks.growth import takes_linear_time


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("It costs 7,90 Euro.", {("€", "7.9")}),
        ("Membership: £25", {("£", "25.0")}),
        ("| nail clip | £19.00 |", {("£", "19.0")}),
        ("48 hours in the tank", {("hour", "48.0")}),
        ("at 18:00 on Tuesdays", {(TIME_OF_DAY, "18:00"), (WEEKDAY, "tuesday")}),
        ("um 9 Uhr", {(TIME_OF_DAY, "9:00")}),
        ("jusqu'à 19 h 30", {(TIME_OF_DAY, "19:30")}),
        ("by 15th March", {(DATE, "15 march")}),
        ("am 3. Mai", {(DATE, "3 mai")}),
        ("hasta el 30 de abril", {(DATE, "30 abril")}),
        ("il 1° maggio", {(DATE, "1 maggio")}),
        ("a 30 de abril", {(DATE, "30 abril")}),
        ("op zaterdag om 9 uur", {(TIME_OF_DAY, "9:00"), (WEEKDAY, "zaterdag")}),
        ("às quintas-feiras", {(WEEKDAY, "quinta-feira")}),
        ("The hall has 160 seats.", {("seat", "160")}),
        ("Opening hours of the shop", set()),
    ],
)
def test_values_have_their_kind(text: str, values: set[tuple[str, str]]) -> None:
    assert find_values(text) == values


@pytest.mark.parametrize("run", ["1", "1 ", "1.", "1:", "12 ma", "10 de ", "montag "])
def test_long_texts_take_linear_time(run: str) -> None:
    assert takes_linear_time(find_values, lambda length, attempt: f"{attempt}{run * (length // len(run))}", 20_000)
