"""Which lines of plain texts are rows of tables whose columns are divided by spaces."""

import pytest

from rag.text.markup.aligned_columns import find_aligned_rows
from tests.support.checks.growth import takes_linear_time

TABLE = ["cup       price", "mug       3 euros", "tumbler   2 euros"]


def rows(*lines: str) -> list[str]:
    return [lines[number] for number in sorted(find_aligned_rows(lines))]


def test_lines_with_spaces_one_below_the_other_are_rows() -> None:
    assert rows("All cups", *TABLE, "They are sold in the shop.") == TABLE
    right_aligned = ["mug    10 euros", "glass   2 euros", "bowl    3 euros"]
    assert rows("", *right_aligned, "") == right_aligned


def test_lines_whose_cells_are_divided_by_dots_are_rows() -> None:
    dotted = ["  mug ............ 3 euros", "  large tumbler .. 2 euros", "  very large cup . 1 euro"]
    assert rows("For sale:", *dotted, "All cups are washed.") == dotted
    spaced = ["mug . . . . . . 3 euros", "tumbler . . . . 2 euros", "cup . . . . . . 1 euro"]
    assert rows(*spaced) == spaced
    assert not rows("It is hot ... and so on.", "It is cold ... and so on.", "Wait ...")


def test_a_line_that_begins_in_the_second_column_continues_a_row() -> None:
    continued = [*TABLE[:2], "          a piece", TABLE[2]]
    assert rows(*continued) == continued
    assert rows("          a piece", *TABLE) == TABLE


def test_a_line_in_the_first_column_alone_ends_a_table() -> None:
    assert rows(*TABLE[:2], "Prices of last year", *TABLE[2:]) == []
    assert rows(*TABLE, "Prices of last year", *TABLE) == [*TABLE, *TABLE]


def test_tables_with_other_columns_are_two_tables() -> None:
    other = ["kind of shelf   cups", "upper shelf     mugs", "lower shelf     tumblers"]
    assert rows(*TABLE, *other) == [*TABLE, *other]
    assert rows(*TABLE, *other[:2]) == TABLE


@pytest.mark.parametrize(
    "lines",
    [
        TABLE[:2],
        ["1.1  Tea is hot.", "1.2  Cups are cold.", "     Saucers are, too.", "1.3  A lid keeps tea hot."],
        ["(a)  Tea is hot.", "(b)  Cups are cold.", "(c)  A lid keeps tea hot."],
        [line for row in TABLE for line in (row, *["          and so on"] * 3)],
        ["tea mug   3 cups", "green tea   2 cups", "black tea   1 cup"],
        [
            "Tea is made of leaves.  It is",
            "drunk hot.  Cups have a handle, and a",
            "saucer is below them.  Some have none.",
        ],
        ["Tea is made of leaves.", "It is drunk hot.", "Cups have a handle."],
        ["  Tea is made of leaves.", "  It is drunk hot.", "  Cups have a handle."],
    ],
)
def test_other_lines_are_no_rows(lines: list[str]) -> None:
    assert rows(*lines) == []


def test_many_columns_take_linear_time() -> None:
    def table(length: int, attempt: int) -> str:
        return f"{attempt}  " * (length // 3) + "\n" + f"{attempt}{attempt}  " * (length // 4)

    assert takes_linear_time(lambda text: find_aligned_rows(text.split("\n")), table, 400_000)
    assert takes_linear_time(
        lambda text: find_aligned_rows(text.split("\n")), lambda n, a: f"a{a}" + " " * n + "\n", 10**6
    )


@pytest.mark.parametrize("part", [".", " .", " ", "a .", "a....", ". "])
def test_many_dots_take_linear_time(part: str) -> None:
    def line(length: int, attempt: int) -> str:
        return f"a{attempt}" + part * (length // len(part))

    assert takes_linear_time(lambda text: find_aligned_rows([text]), line, 200_000)
