"""Rows of a table beside the one that the question names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.pipeline.answering.extractive.parts.needed_parts import PassageStructure
from rag.pipeline.answering.extractive.selection.named_rows import leave_out_other_rows
from rag.pipeline.answering.extractive.selection.select_parts import Selection
from rag.text.sentences.quotable_units import UnitKind
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
        (
            "What is the difference between the Mola 75 and the Mola 75 titanium?",
            ["75", "75 titanium"],
            ["75", "75 titanium"],
        ),
        # It is named to ask about the others
        ("Which grinders cost more than the Mola 75?", ["75", "90"], ["75", "90"]),
        ("prices of grinders besides the Mola 75", ["75", "90"], ["75", "90"]),
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


@pytest.mark.parametrize(
    ("question", "kept"),
    [
        # The rows have the same name, so the number tells them apart
        ("Who repairs the Lumo 3.1?", [0]),
        ("Wer repariert Modell 3 der Lumo?", [1]),
        # It is an amount where the name is not the same
        ("Who repairs 3.1 tons?", [0, 1, 2]),
        ("Who repairs a Lumo?", [0, 1]),
        ("Who repairs the Lumo 3.1 and the Vela 3.1?", [0, 2]),
    ],
)
def test_cells_of_a_file_are_compared_by_the_names_of_their_columns(question: str, kept: list[int]) -> None:
    rows = [
        "lamp: Lumo | note: old | model: 3.1 | by: Ada",
        "lamp: Lumo | model: 3 | by: Bo",
        "lamp: Vela | model: 3.1",
    ]
    structure = PassageStructure(passage("\n".join(rows)))
    selection = leave_out_other_rows(Selection({1: {0, 1, 2}}, (1, 2)), [structure], question)
    assert selection.parts == {1: set(kept)}


@pytest.mark.parametrize(
    ("question", "table"),
    [
        ("What's the chest width of the shirts?", "| size | width |\n| --- | --- |\n| S | 92 cm |\n| M | 100 cm |"),
        ("What does a permit cost?", "| zone | cost |\n| --- | --- |\n| A | 10 |\n| B | 20 |"),
        ("plans with no credit card", "| plan | api |\n| --- | --- |\n| Pro | no |\n| Plus | yes |"),
        (
            "sheets of 10 x 10 cm in a pack of 20",
            "| sheet | pack |\n| --- | --- |\n| 10 x 20 cm | 5 |\n| 10 x 10 cm | 9 |",
        ),
    ],
)
def test_rows_that_the_question_does_not_name_stay(question: str, table: str) -> None:
    """A letter of a contraction, an article, "no", words in another order."""
    structure = PassageStructure(passage(table))
    rows = [index_of(structure, row) for row in table.splitlines()[2:]]
    kept = leave_out_other_rows(Selection({1: set(rows)}, (1, rows[-1])), [structure], question).parts[1]
    assert rows[-1] in kept


@given(
    cells=st.lists(
        st.lists(st.sampled_from(["", "Pro", "Pro Plus", "no", "3", "keys"]), min_size=3, max_size=3), min_size=1
    ),
    words=st.lists(st.sampled_from(["Pro", "Plus", "no", "3", "keys"]), max_size=6),
)
def test_a_row_is_left(cells: list[list[str]], words: list[str]) -> None:
    table = "\n".join(f"| {' | '.join(row)} |" for row in [["a", "b", "c"], ["---"] * 3, *cells])
    structure = PassageStructure(passage(table))
    rows = {index for index, part in enumerate(structure.parts) if part.kind is UnitKind.ROW}
    selection = leave_out_other_rows(Selection({1: set(rows)}, (1, min(rows))), [structure], " ".join(words))
    assert selection.parts[1]
    assert selection.best is not None
    assert selection.best[1] in selection.parts[1]


def test_of_rows_that_replace_each_other_in_a_circle_all_stay() -> None:
    table = "| a | b | c |\n| --- | --- | --- |\n| guide |  | Berlin |\n| Ana | sauna |  |\n|  | pool | keys |"
    structure = PassageStructure(passage(table))
    rows = {index_of(structure, row) for row in table.splitlines()[2:]}
    selection = leave_out_other_rows(Selection({1: set(rows)}, (1, min(rows))), [structure], "guide with sauna keys")
    assert selection.parts == {1: rows}


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


HALLS = (
    "| Hall | Size |\n| --- | --- |\n| Oslo | up to 10 people |\n| Rome | up to 20 people |\n"
    "| Bern | up to 30 people |\n"
)


@pytest.mark.parametrize(
    ("question", "selected", "kept"),
    [
        ("Do Oslo and Rome fit 15 people?", "Oslo Rome", "Oslo Rome"),
        ("Which halls fit 15 people?", "Oslo Rome Bern", "Rome Bern"),
    ],
)
def test_a_named_row_stays_beside_one_whose_range_fits(question: str, selected: str, kept: str) -> None:
    structure = PassageStructure(passage(HALLS))
    texts = [structure.text(index) for index in range(len(structure.parts))]
    rows = {text[2:6]: index for index, text in enumerate(texts) if "up to" in text}
    selection = Selection({1: {rows[name] for name in selected.split()}})
    left = leave_out_other_rows(selection, [structure], question)
    assert left.parts[1] == {rows[name] for name in kept.split()}


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("متى تغلق المساحة يوم الخميس؟", "الخميس"),
        ("متى تغلق المساحة يوم السبت؟", "الجمعة"),
        ("متى تغلق المساحة؟", "الجمعة"),
    ],
)
def test_the_named_row_takes_the_place_of_another_one(question: str, expected: str) -> None:
    rows = "| اليوم | المساحة |\n| --- | --- |\n| الخميس | 7:00–22:00 |\n| الجمعة | مغلق |\n| مع | مغلق |"
    structure = PassageStructure(passage(rows, lang="ar"))
    friday = next(index for index in range(len(structure.parts)) if "الجمعة" in structure.text(index))
    left = leave_out_other_rows(Selection({1: {friday}}, (1, friday)), [structure], question)
    assert [structure.text(index)[2:8] for index in left.parts[1]] == [expected]
    assert left.best is not None
    assert left.best[1] in left.parts[1]
