"""Where tables are put into the text of a page of a PDF."""

import random
import re

import pytest

from benchmarks.support import drawn_pdf
from benchmarks.support.drawn_pdf import Rule, Text
from rag.parsing.readers.pdf.tables import table_places
from rag.parsing.readers.pdf.work_budget import WorkBudget
from tests.parsing.conftest import Read
from tests.support.checks.growth import takes_linear_time

Rows = list[list[str]]
_FIRST: Rows = [["Item", "North", "South"], ["Apples", "12", "21"], ["Pears", "34", "43"]]
_SECOND: Rows = [["Item", "North", "South"], ["Apples", "21", "12"], ["Pears", "43", "34"]]


def _insert(text: str, *tables: Rows) -> str:
    return table_places.insert(text, tables, WorkBudget(1_000_000))


def _plain(rows: Rows) -> str:
    return " ".join(" ".join(" ".join(row).split()) for row in rows)


def _page(*tables: Rows) -> list[Text | Rule]:
    """Draw tables below each other, each with its caption."""
    items: list[Text | Rule] = []
    y = 740
    for number, rows in enumerate(tables, 1):
        items.append(Text(56, y, f"Table {number} shows what was counted in the gardens of the town."))
        edges = [56 + 120 * column for column in range(len(rows[0]) + 1)]
        top = y - 12
        for row in range(len(rows) + 1):
            items.append(Rule(edges[0], top - 18 * row, edges[-1], top - 18 * row))
        items += [Rule(x, top - 18 * len(rows), x, top) for x in edges]
        for line, row_cells in enumerate(rows):
            items += [Text(x + 4, top - 13 - 18 * line, cell) for x, cell in zip(edges, row_cells, strict=False)]
        y = top - 18 * len(rows) - 40
    return items


def _sections(text: str) -> list[str]:
    return re.split(r"Table \d shows what was counted in the gardens of the town\.", text)[1:]


def _words(text: str) -> list[str]:
    return [word for word in re.split(r"[\s|]+", text) if word.strip("-")]


def _tables_of_the_same_characters(chance: random.Random) -> list[Rows]:
    """Return two or three tables: their figures are the same digits in another order."""
    size, columns = chance.randint(1, 4), chance.randint(2, 4)
    digits = [str(chance.randint(1, 4)) for _ in range(2 * size * (columns - 1))]
    tables: list[Rows] = []
    for _ in range(chance.randint(2, 3)):
        chance.shuffle(digits)
        figures = ["".join(digits[place : place + 2]) for place in range(0, len(digits), 2)]
        names = chance.sample(["Apples", "Pears", "Plums", "Grapes"], size) if chance.random() < 0.5 else None
        tables.append([["Item", *["North", "South", "West"][: columns - 1]]])
        for row in range(size):
            name = names[row] if names else ["Apples", "Pears", "Plums", "Grapes"][row]
            tables[-1].append([name, *figures[row * (columns - 1) : (row + 1) * (columns - 1)]])
    return tables


def test_a_table_is_not_overwritten_with_the_figures_of_another(read: Read) -> None:
    sections = _sections(read(drawn_pdf.draw([_page(_FIRST, _SECOND)]), "a.pdf").text)
    assert "| Apples | 12 | 21 |\n| Pears | 34 | 43 |" in sections[0]
    assert "| Apples | 21 | 12 |\n| Pears | 43 | 34 |" in sections[1]


def test_the_cells_of_each_drawn_table_are_below_its_caption(read: Read) -> None:
    pages = [_tables_of_the_same_characters(random.Random(seed)) for seed in range(40)]
    sections = _sections(read(drawn_pdf.draw([_page(*tables) for tables in pages]), "a.pdf").text)
    expected = [[cell for row in rows for cell in row] for tables in pages for rows in tables]
    assert [_words(section) for section in sections] == expected


@pytest.mark.parametrize("seed", range(50))
def test_no_figure_leaves_its_table(seed: int) -> None:
    """Also where a table of the page has no lines, or its text was read in another order."""
    chance = random.Random(seed)
    tables = _tables_of_the_same_characters(chance)
    parts: list[str] = []
    for number, rows in enumerate(tables, 1):
        words = _plain(rows).split()
        if chance.random() < 0.3:
            chance.shuffle(words)
        parts.append(f"Table {number} shows what was counted in the gardens of the town.")
        parts.append(table_places.markdown(rows) if chance.random() < 0.3 else " ".join(words))
    text = "\n\n".join(parts)
    ruled = [rows for rows in tables if chance.random() < 0.7]
    result = _sections(_insert(text, *ruled))
    for before, after in zip(_sections(text), result, strict=True):
        assert _words(after) == _words(before)


def test_a_table_without_its_own_text_takes_no_other_place() -> None:
    text = f"Table 1.\n\n{_plain(_SECOND)}\n\nThe end."
    assert _insert(text, _FIRST) == text
    assert _insert(text, _SECOND) == f"Table 1.\n\n{table_places.markdown(_SECOND)}\n\nThe end."


def test_a_table_with_two_places_stays_as_it_was_read() -> None:
    text = f"One:\n\n{_plain(_FIRST)}\n\nTwo:\n\n{_plain(_FIRST)}\n\nThe end."
    assert _insert(text, _FIRST) == text
    assert _insert(text, _FIRST, _FIRST) == text


def test_two_tables_with_one_place_stay_as_they_were_read() -> None:
    shifted = [["Item", "North", "South"], ["Apples 12", "21", ""], ["Pears", "34", "43"]]
    text = f"One:\n\n{_plain(_FIRST)}\n\nThe end."
    assert _insert(text, _FIRST, shifted) == text


@pytest.mark.parametrize(
    ("cells", "read_as"),
    [
        (["1", "23"], "12 3"),
        (["-5", "5"], "5 -5"),
        (["1.5", "2"], "15 2"),
        (["1", "2"], "12"),
        (["5%", "6"], "5 6%"),
        (["5", "6"], "5 6.5"),
    ],
)
def test_signs_and_spaces_of_figures_must_be_the_same(cells: list[str], read_as: str) -> None:
    rows = [["Apples", "Pears and plums"], cells]
    text = f"One:\n\nApples Pears and plums {read_as}\n\nThe end."
    assert _insert(text, rows) == text
    read_well = text.replace(read_as, " ".join(cells))
    assert table_places.markdown(rows) in _insert(read_well, rows)


def test_lines_of_cells_may_follow_each_other_in_several_ways() -> None:
    rows = [["Name", "What it is"], ["Bee", "an insect that\nmakes honey"], ["Old\nwasp", "another\none"]]
    for body in (
        "Bee an insect that makes honey Old wasp another one",
        "an insect that Bee makes honey Old another wasp one",
    ):
        assert table_places.markdown(rows) in _insert(f"Name What it is\n\n{body}", rows)


def test_rows_that_were_read_into_one_are_separated() -> None:
    text = "| Item Apples | North 12 | South 21 |\n| --- | --- | --- |\n| Pears | 34 | 43 |"
    assert _insert(text, _FIRST) == table_places.markdown(_FIRST)
    assert _insert(text, _SECOND) == text


def test_a_place_within_a_row_is_no_place() -> None:
    text = f"| Of the year | {_plain(_FIRST)} |\n| --- | --- |"
    assert _insert(text, _FIRST) == text


def test_an_empty_header_of_the_same_table_is_replaced() -> None:
    rows = [f"| {' | '.join(row)} |" for row in _FIRST]
    text = "\n".join(["|  |  |  |", "| --- | --- | --- |", *rows])
    assert _insert(text, _FIRST) == table_places.markdown(_FIRST)


def test_rows_that_were_read_before_others_are_put_in_order() -> None:
    text = "| Pears | 34 | 43 |\n| --- | --- | --- |\n| Item | North | South |\n| Apples | 12 | 21 |"
    assert _insert(text, _FIRST) == table_places.markdown(_FIRST)
    assert _insert(text, _SECOND) == text
    assert _insert(f"{text}\n| Pears | 34 | 43 |", _FIRST).count("Pears") == 2


def test_lists_beside_each_other_in_a_frame_are_no_table(read: Read) -> None:
    lists = [[f"- {kind} number {number} of the year" for number in range(6)] for kind in ("walk", "talk")]
    text = read(_frame(*lists), "a.pdf").text
    assert "|" not in text
    assert "- walk number 2 of the year\n- walk number 3" in text


def test_paragraphs_beside_each_other_in_a_frame_are_no_table(read: Read) -> None:
    paragraphs = [
        "The library is open on all days but Sunday.",
        "It has a large hall with many tables, and a",
        "smaller one for children. Both of them are",
        "heated in winter.",
        "Books may be taken home for three weeks.",
        "Nobody pays a fine in the first week, but",
        "after that each day costs one crown.",
    ]
    assert (
        "|" not in read(_frame(paragraphs, [line.replace("The library", "A museum") for line in paragraphs]), "a").text
    )


def _frame(left: list[str], right: list[str]) -> bytes:
    bottom = 670 - 14 * len(left)
    items: list[Text | Rule] = [Text(56, 780, "Report", 18, bold=True)]
    items += [Rule(50, y, 500, y) for y in (700, 680, bottom)] + [Rule(x, bottom, x, 700) for x in (50, 275, 500)]
    for x, lines in ((60, ["Mornings", *left]), (285, ["Evenings", *right])):
        items += [Text(x, 686 - (8 if number else 0) - 14 * number, line) for number, line in enumerate(lines)]
    return drawn_pdf.draw([items])


def test_a_table_with_more_rows_stays() -> None:
    text = "| Item | North |\n| --- | --- |\n| Apples | 12 |\n| Pears | 34 |"
    assert _insert(text, [["Item", "North"], ["Apples\nPears", "12\n34"]]) == text
    wrapped = text.replace("Pears", "")
    assert "| Apples | 12 34 |" in _insert(wrapped, [["Item", "North"], ["Apples", "12\n34"]])


def test_the_search_takes_linear_time() -> None:
    """A text that begins like the table everywhere."""
    rows = [["a", "a"], *[["a" * 10, "a" * 10]] * 20, ["a", "b"]]
    step = lambda text: table_places.insert(text, [rows], WorkBudget(10**9))  # noqa: E731
    assert takes_linear_time(step, lambda length, attempt: "a " * (length // 2) + str(attempt), 60_000)


def _markdown(rows: Rows) -> str:
    return table_places.markdown(rows)


def test_rows_of_tables_are_counted() -> None:
    rows = [*_FIRST, ["Plums", "5", "6"]]
    assert table_places.count_rows(f"Before.\n\n{_markdown(rows)}\n\nAfter.") == 4
    assert table_places.count_rows(_markdown(_FIRST)) == 0  # few rows


def test_the_same_table_that_was_read_differently_does_not_count() -> None:
    rows = [["Item", "", "North South"], ["Apples", "12", "21"], ["Pears", "34", ""], ["", "", "43"]]
    assert table_places.count_rows(_markdown(rows)) == 4
    assert table_places.count_rows(_markdown(rows), known=[_FIRST]) == 0
    assert table_places.count_rows(_markdown([*rows, ["Plums", "5", "6"]]), known=[_FIRST]) == 5


def test_parts_of_a_page_that_were_read_as_rows_do_not_count() -> None:
    rows = [["Opening hours", ""], ["Monday", "9 to 5"], ["Tuesday", "9 to 6"], ["Sunday", "closed"]]
    assert table_places.count_rows(_markdown(rows)) == 4
    assert table_places.count_rows(_markdown(rows), titles=frozenset({"Opening hours"})) == 0
    lone = [["1. Output", ""], ["The quarry ships slate.", ""], ["•", "tiles"], ["•", "flags"]]
    assert table_places.count_rows(_markdown(lone)) == 0


@pytest.mark.parametrize("after", ["(all figures are estimates)", "2024 was a good year.", "± 3"])
def test_a_figure_or_sign_may_follow_a_table(after: str) -> None:
    assert _insert(f"Harvest {_plain(_FIRST)}\n\n{after}", _FIRST).endswith(f"| Pears | 34 | 43 |\n\n{after}")


def test_rows_that_are_whole_lines_of_the_page_do_not_count() -> None:
    line = "The boats sail from the old harbour to the island every day"
    rows = [["The boats", "sail from the old harbour", "to the island every day"], *[["and", "back", "again"]] * 3]
    text = table_places.markdown(rows)
    assert table_places.count_rows(text) == len(rows)
    assert table_places.count_rows(text, lines=frozenset({line})) == 0
