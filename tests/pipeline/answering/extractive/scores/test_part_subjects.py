"""Rows of tables that a question names by several of their cells."""

import pytest

from tests.support.passages import answer, passage

# Other rows have more words of the questions.
LAMPS = [
    {"lamp": "Lumo", "model": "3.1", "covered until": "2028-05-31", "made in": "Graz"},
    {"lamp": "Lumo", "model": "3.0", "covered until": "2027-01-31", "note": "guarantee ends later than that of 3.1"},
    {"lamp": "Vela", "model": "3.1", "covered until": "2029-12-31", "note": "the guarantee of Lumo ends in 2028"},
    {"lamp": "Vela", "model": "4", "covered until": "none", "note": "Garantie endet wie die der Lumo 3 oder 1"},
]
CSV = "\n".join(" | ".join(f"{name}: {value}" for name, value in lamp.items()) for lamp in LAMPS)
MARKDOWN = "| lamp | model | covered until | note |\n| --- | --- | --- | --- |\n" + "\n".join(
    f"| {lamp['lamp']} | {lamp['model']} | {lamp['covered until']} | {lamp.get('note', '')} |" for lamp in LAMPS
)


@pytest.mark.parametrize("table", [CSV, MARKDOWN])
@pytest.mark.parametrize(
    ("question", "date"),
    [
        ("When does the guarantee of the Lumo 3.1 end?", "2028-05-31"),
        ("When does the guarantee of model 3.0 of the Lumo end?", "2027-01-31"),
        ("When does the guarantee of the Vela 3.1 end, as of 2028?", "2029-12-31"),
        ("Wann endet die Garantie der Lumo 3.1?", "2028-05-31"),
        ("Quand finit la garantie de la Lumo 3.1, guarantee?", "2028-05-31"),
    ],
)
def test_the_row_is_quoted_of_which_several_cells_are_named(question: str, date: str, table: str) -> None:
    quoted = answer(question, passage(table))
    assert date in quoted
    assert not any(lamp["covered until"] in quoted for lamp in LAMPS if lamp["covered until"] != date)


def test_one_named_cell_is_not_enough() -> None:
    """The number of one row is an amount in the text of another one."""
    table = passage(
        "kind: tent | places: 4 | price: 30\nkind: hut | places: 6 | price: 55 for 4 guests with dogs, each week"
    )
    assert "hut" in answer("What do 4 guests with dogs pay each week?", table)


BOATS = (
    "| boat | seats | top speed | cleaned |\n| --- | --- | --- | --- |\n| Moorhen | 2 | 38 km/h | daily |\n"
    "| Grebe | 4 | 52 km/h | weekly |\n\nThe Moorhen and the Grebe have a top with 3 pockets, and speed counts."
    "\n\nOur cleaning costs 40 euros, weekly; cleaned boats are worth it, and what is in them is thrown away."
)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What is the top speed of the Moorhen?", "- Moorhen — seats: 2 — top speed: 38 km/h — cleaned: daily [1]"),
        ("Top speed, Grebe?", "- Grebe — seats: 4 — top speed: 52 km/h — cleaned: weekly [1]"),
        # The name of a column alone names no row
        ("What do cleaned boats cost?", "Our cleaning costs 40 euros"),
    ],
)
def test_a_cell_and_the_column_of_another_one_name_a_row(question: str, expected: str) -> None:
    assert answer(question, passage(BOATS)).startswith(expected)


def test_a_cell_and_a_column_of_the_same_words_name_no_row() -> None:
    club = (
        "| pet | monthly fee | care |\n| --- | --- | --- |\n| mouse | 4 euros | monthly |\n| rat | 5 euros | none |"
        "\n\nThe monthly fee is collected on the 5th: ferrets pay 7 euros."
    )
    assert answer("What is the monthly fee for ferrets?", passage(club)).startswith("The monthly fee is collected")
