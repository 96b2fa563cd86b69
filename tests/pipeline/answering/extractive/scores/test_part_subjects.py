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
