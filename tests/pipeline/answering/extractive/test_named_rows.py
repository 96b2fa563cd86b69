"""Rows of a table beside the one that the question names."""

import pytest

from rag.pipeline.answering.extractive.parts.passage_structure import PassageStructure
from rag.pipeline.answering.extractive.selection.named_rows import leave_out_other_rows
from rag.pipeline.answering.extractive.selection.select_parts import Selection
from tests.support.passages import answer, passage

PRICES = (
    "| code | model | filter | price |\n| --- | --- | --- | --- |\n| K75 | Mola 75 | 1 | 1640 |\n"
    "| K75T | Mola 75 titanium | 2 | 1890 |\n| K90 | Mola 90 | 1 | 2210 |\n|  | with stand | 1 | 2400 |"
)
ROWS = dict(zip(["75", "75 titanium", "90", "with stand"], PRICES.splitlines()[2:], strict=True))


def index_of(structure: PassageStructure, row: str) -> int:
    return next(index for index in range(len(structure.parts)) if structure.text(index) == row)


@pytest.mark.parametrize(
    ("question", "selected", "kept"),
    [
        ("price of the Mola 75 titanium", ["75", "75 titanium"], ["75 titanium"]),
        ("price of the Mola 75", ["75", "75 titanium"], ["75"]),
        ("price of K75T", ["75 titanium", "90"], ["75 titanium"]),
        # Both are named, or neither is
        ("Mola 75 or Mola 90?", ["75", "90"], ["75", "90"]),
        ("K75T or the Mola 90?", ["75 titanium", "90"], ["75 titanium", "90"]),
        ("prices of all grinders", ["75", "90"], ["75", "90"]),
        # A number elsewhere than in the first column is an amount
        ("1 filter: which grinders?", ["75", "75 titanium"], ["75", "75 titanium"]),
        # The code of this row is that of the row above
        ("price of the K90", ["90", "with stand"], ["90", "with stand"]),
    ],
)
def test_only_the_named_row_is_kept(question: str, selected: list[str], kept: list[str]) -> None:
    structure = PassageStructure(passage(PRICES))
    indexes = {index_of(structure, ROWS[name]) for name in selected}
    expected = {index_of(structure, ROWS[name]) for name in kept}
    for best in (None, (1, max(indexes)), (1, min(indexes))):
        selection = leave_out_other_rows(Selection({1: set(indexes)}, best), [structure], question)
        assert selection.parts == {1: expected}
        assert selection.best is None or selection.best[1] in selection.parts[1]


def test_a_row_of_another_table_stays() -> None:
    text = f"{PRICES}\n\nIt is delivered in days:\n\n| model | days |\n| --- | --- |\n| Mola 90 | 3 |"
    structure = PassageStructure(passage(text))
    days = index_of(structure, "| Mola 90 | 3 |")
    selection = Selection({1: {index_of(structure, ROWS["75"]), days}}, (1, days))
    assert leave_out_other_rows(selection, [structure], "price of the Mola 75").parts == selection.parts


def test_an_answer_has_the_named_row_only() -> None:
    text = (
        "## Capacity\n\n| filter | capacity |\n| --- | --- |\n| AquaPur M | 2400 litres |\n| AquaPur L | 4100 litres |"
    )
    assert answer("AquaPur L capacity", passage(text)) == "- AquaPur L — capacity: 4100 litres [1]"
