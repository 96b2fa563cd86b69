"""Amounts with units, and ranges of them, in seven languages."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.text.quantities.amounts import Amount, AmountRange, find_amounts, find_unit, parse_range
from tests.support.checks.growth import takes_linear_time


@pytest.mark.parametrize(
    ("text", "amounts"),
    [
        ("Who approves an order of 12,000 €?", [Amount(12000, "€")]),
        ("eine Uhr im Wert von etwa 300 Euro", [Amount(300, "€")]),
        ("My 7-year-old daughter and my son of 12 years", [Amount(7, "year"), Amount(12, "year")]),
        ("I paid $4,999.99 in 2024 for 2.5 kg", [Amount(4999.99, "$"), Amount(2.5, "kg")]),
        ("12'500 CHF, 1.250,50 EUR, 3 000 €", [Amount(12500, "chf"), Amount(1250.5, "€"), Amount(3000, "€")]),
        ("line 74, room 12, exit code 3", []),
        ("€20k, € 2 million, 5 Mio. €", [Amount(20_000, "€"), Amount(2_000_000, "€"), Amount(5_000_000, "€")]),
        ("$5m and €1.5bn, but €20x", [Amount(5_000_000, "$"), Amount(1_500_000_000, "€")]),
        ("at -5 °C, minus 7 °C, 5–9 °C", [Amount(-5, "°c"), Amount(-7, "°c"), Amount(9, "°c")]),
        ("the BR-5 kg model", [Amount(5, "kg")]),
        ("20 t-shirts, 3 old keys, 5G, 25 km/h, 60 m2, 5 an hour", []),
        ("0.500 kg, 12,000 kg, perhaps 1.125 kg", [Amount(0.5, "kg"), Amount(12_000, "kg")]),
        ("tre settimane, 24 ore e 2 milioni di euro", [Amount(24, "hour"), Amount(2_000_000, "€")]),
        ("30 dias, 2 pessoas, 3 quilos", [Amount(30, "day"), Amount(2, "person"), Amount(3, "kg")]),
        ("6 weken en 20 duizend euro", [Amount(6, "week"), Amount(20_000, "€")]),
        ("", []),
    ],
)
def test_numbers_with_a_unit_are_amounts(text: str, amounts: list[Amount]) -> None:
    assert find_amounts(text) == amounts


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("up to 1,500 €", [0, 1500], [1500.01]),
        ("over 1,500 € up to 15,000 €", [1500.01, 15000], [1500, 15001]),
        ("über 20 € bis 100 €", [20.5, 100], [20, 101]),
        ("de 20 à 100 €", [20, 100], [19, 101]),
        ("más de 100 € y hasta 500 €", [101, 500], [100, 501]),
        ("hasta 30 €", [30], [31]),
        ("plus de 30 €", [31], [30]),
        ("ab 5.000 €", [5000, 90000], [4999]),
        ("weniger als 50 €", [49.99], [50]),
        ("€1,000 – €5,000", [1000, 5000], [999, 5001]),
        ("EUR 500 to 999", [500, 999], [499, 1000]),
        ("between 2 and 4 €", [2, 4], [1, 5]),
        ("70 € and over", [70, 71], [69]),
        ("70 € or less", [70], [71]),
        ("> 80,000 €", [80001], [80000]),
        ("≤ 10 €", [10], [11]),
        ("no more than 10 €", [10], [11]),
        ("nicht mehr als 10 €", [10], [11]),
        ("not less than 10 €", [10, 11], [9]),
        ("da 20 a 100 €", [20, 100], [19, 101]),
        ("dal 20 al 100 €", [20, 100], [19, 101]),
        ("oltre 20 € fino a 100 €", [20.5, 100], [20, 101]),
        ("non più di 10 €", [10], [11]),
        ("mais de 20 € até 100 €", [20.5, 100], [20, 101]),
        ("menos de 50 €", [49.99], [50]),
        ("meer dan 20 € tot 100 €", [20.5, 100], [20, 101]),
        ("niet meer dan 10 €", [10], [11]),
        ("vanaf 70 €", [70, 71], [69]),
        ("70 € of meer", [70, 71], [69]),
        ("-10 to -5 €", [-10, -5], [-11, -4, 5]),
        ("over €10k up to €1 million", [10_001, 1_000_000], [10_000, 1_000_001]),
    ],
)
def test_a_range_contains_amounts_of_its_unit(text: str, inside: list[float], outside: list[float]) -> None:
    stated = parse_range(text)
    assert stated is not None
    assert [stated.contains(Amount(value, "€")) for value in [*inside, *outside]] == [True] * len(inside) + [
        False
    ] * len(outside)
    assert not stated.contains(Amount(inside[-1], "kg"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "12 €",
        "soon",
        "1 January 2024",
        "from 15 € over 3 €",
        "1 to 2 to 3 €",
        "up to 9 € to 20 €",
        "– 5 €",
        "al 5 %",
        "alle 14 Tage",
        "Van 5 m",
    ],
)
def test_other_texts_state_no_range(text: str) -> None:
    assert parse_range(text) is None


def test_the_name_of_a_column_may_have_the_unit() -> None:
    assert [find_unit(name) for name in ("Order value (€)", "Age", "Weight in kg", "Name")] == ["€", "year", "kg", ""]
    assert find_unit("Weight per person (kg)") == "kg"
    assert [find_unit(name) for name in ("Età", "Idade", "Leeftijd", "Prezzo all'ora", "Prezzo al mese")] == [
        *["year"] * 3,
        "",
        "",
    ]
    assert [find_unit(name) for name in ("Price of an order", "Old price", "Cost per hour", "Model T")] == [""] * 4
    assert parse_range("6–11", "year") == AmountRange(6, 11, "year")
    assert parse_range("under 18", "year") == AmountRange(-math.inf, 18, "year", has_high=False)


@given(st.integers(0, 10**6), st.integers(1, 10**6), st.integers(0, 10**7))
def test_adjoining_ranges_have_each_amount_once(first: int, step: int, value: int) -> None:
    texts = [f"up to {first:,} €", f"over {first:,} € up to {first + step:,} €", f"over {first + step:,} €"]
    ranges = [parse_range(text) for text in texts]
    assert sum(stated is not None and stated.contains(Amount(value, "€")) for stated in ranges) == 1


@pytest.mark.parametrize(
    "run", ["1,111", "1 ", " ", "€", "12 €", "-", "and ", "over ", "<", "1.", "'", "al ", "niet ", "all'"]
)
def test_it_takes_linear_time(run: str) -> None:
    def text_of(length: int, attempt: int) -> str:
        return f"{attempt}{run * length}"[:length]

    for step in (find_amounts, parse_range, find_unit):
        assert takes_linear_time(step, text_of, 25_000)
