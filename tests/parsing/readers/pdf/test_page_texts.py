"""Tables of PDF files whose cells were not written row by row."""

from benchmarks.support import drawn_pdf
from benchmarks.support.drawn_pdf import Rule, Text
from tests.parsing.conftest import Read

_ROWS = [
    ["Talk", "Speaker", "Room"],
    ["Bees", "Anna Berg", "12"],
    ["Wasps", "Otto Lund", "14"],
    ["Ants", "Ida Holm", "16"],
]
_EDGES = (56, 256, 406, 456)


def _table(*, top: int, left_out: str = "") -> list[Text | Rule]:
    """Draw the rules of a table, and its cells column by column, from the last column to the first."""
    items: list[Text | Rule] = [Rule(_EDGES[0], top - 20 * y, _EDGES[-1], top - 20 * y) for y in range(len(_ROWS) + 1)]
    items += [Rule(x, top, x, top - 20 * len(_ROWS)) for x in _EDGES]
    for column in (2, 1, 0):
        items += [
            Text(_EDGES[column] + 4, top - 14 - 20 * y, row[column])
            for y, row in enumerate(_ROWS)
            if row[column] != left_out
        ]
    return items


def _markdown(rows: list[list[str]]) -> str:
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], "| --- | --- | --- |", *lines[1:]])


def test_a_table_is_where_its_lines_were(read: Read) -> None:
    before, after = Text(56, 760, "The talks are given in the old hall."), Text(56, 560, "Coffee is served at noon.")
    text = read(drawn_pdf.draw([[before, *_table(top=740), after]]), "a.pdf").text
    assert text == f"{before.text}\n\n{_markdown(_ROWS)}\n\n{after.text}"


def test_tables_below_each_other_keep_their_places(read: Read) -> None:
    between = Text(56, 640, "The second day has the same talks.")
    text = read(drawn_pdf.draw([[*_table(top=740), between, *_table(top=620)]]), "a.pdf").text
    assert text == f"{_markdown(_ROWS)}\n\n{between.text}\n\n{_markdown(_ROWS)}"


def test_lines_that_reach_out_of_a_table_stay_text(read: Read) -> None:
    """What begins left of a table and ends in it belongs to none of its cells."""
    outside = Text(20, 706, "Fr 9-10 a.m.")
    text = read(drawn_pdf.draw([[*_table(top=740, left_out="Bees"), outside]]), "a.pdf").text
    assert "Fr 9-10 a.m." in text
    assert "Anna Berg" in text
