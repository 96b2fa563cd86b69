"""Extractive answers from tables whose rows have several lines, and from texts with front matter."""

import pytest

from tests.support.passages import answer, passage

GRID = """\
+------------+------------------------+
| Setting    | What it                |
|            | does                   |
+============+========================+
| ``steep``  | How long the tea is    |
|            | left in the pot.       |
+------------+------------------------+
| ``limit``  | How many cups are      |
|            |                        |
|            | .. note::              |
|            |                        |
|            |   poured at once.      |
+------------+------------------------+
"""


def test_a_row_of_a_grid_table_is_quoted_whole_with_the_names_of_its_columns() -> None:
    assert answer("How many cups are poured?", passage(GRID)) == (
        "- `limit` — What it does: How many cups are poured at once. [1]"
    )


def test_the_bars_of_tables_without_borders_do_not_join_rows() -> None:
    page = passage("| cup | size |\n| --- | --- |\n| mug | big |\n| tumbler | small |")
    assert answer("What is the size of the tumbler?", page) == "- tumbler — size: small [1]"


def test_each_line_of_a_table_that_a_database_printed_is_a_row() -> None:
    rule = "+---------+-------+"
    page = passage(f"{rule}\n| cup     | size  |\n{rule}\n| mug     | big   |\n| tumbler | small |\n{rule}")
    assert answer("Is the tumbler small?", page) == "- tumbler — small [1]"


def test_names_above_numbers_are_the_header_of_a_table_without_a_rule() -> None:
    """A header alone is no answer, and a row without it says little."""
    rows = "Cup | Size | Price\nmug | big | 3 euros\ntumbler | small | 2 euros\n"
    assert answer("What does a tumbler cost?", passage(f"All cups:\n\n{rows}")).endswith(
        "- tumbler — Size: small — Price: 2 euros [1]"
    )
    unknown = answer("What does a tumbler cost?", passage(rows))
    assert unknown == "- tumbler — small — 2 euros [1]", "the text may begin in the middle of the table"
    for other in (
        rows.replace("Price", "5 cups"),
        rows.replace("Size", "Size 2"),
        rows.replace("2 euros", "two euros"),
        rows.replace("Cup |", "|"),
    ):
        assert "Size:" not in answer("What does a tumbler cost?", passage(f"All cups:\n\n{other}"))


def test_the_name_of_a_column_of_numbers_may_have_a_number() -> None:
    table = """\
The bus waits:

Vehicle        by day           after 20:00     last bus
small bus      2 min            5 min           15 min
regional bus   does not wait    8 min           20 min
"""
    assert answer("How long does the regional bus wait after 20:00?", passage(table)) == (
        "The bus waits:\n- regional bus — by day: does not wait — after 20:00: 8 min — last bus: 20 min [1]"
    )


@pytest.mark.parametrize(
    ("rows", "question"),
    [
        ("| under 6 | free |\n| 6–14 | 5 € |\n| 15–64 | 9 € |\n", "What is the fee for 6–14?"),
        ("| from 9 € | child |\n| 12 € | adult |\n| 15 € | family |\n", "What does an adult pay?"),
    ],
)
def test_a_row_with_a_range_or_an_amount_is_no_row_of_names(rows: str, question: str) -> None:
    first, second = rows.splitlines()[0].strip("| ").split(" | ")
    quoted = answer(question, passage(f"Our fees:\n\n{rows}"))
    assert f"{first}: " not in quoted
    assert f"{second}: " not in quoted


PRICES = """\
The shop has these cups:

    Cup             Where it is kept      2024      2025
    mug             upper shelf        3 euros  10 euros
    small tumbler   lower shelf        2 euros   4 euros
    large tumbler   cellar             5 euros   6 euros,
                                                 with a lid

"""


def test_a_row_with_aligned_columns_is_quoted_with_their_names() -> None:
    page = passage(PRICES)
    row = "- large tumbler — Where it is kept: cellar — 2024: 5 euros — 2025: 6 euros, with a lid [1]"
    assert answer("What does a large tumbler cost?", page).endswith(f"cups:\n{row}")
    unnamed = passage(PRICES.replace("Cup             Where", " " * 16 + "Where"))
    assert answer("What does a mug cost?", unnamed).endswith(
        "- mug — Where it is kept: upper shelf — 2024: 3 euros — 2025: 10 euros [1]"
    )


def test_names_of_a_specification_are_followed_by_their_values() -> None:
    page = passage("Data of the kettle:\n\nWeight:    2 kg\nVolume:    3 litres\nColour:    red\n")
    assert answer("What is the weight of the kettle?", page).endswith("- Weight: 2 kg [1]")


def test_a_line_of_a_price_list_with_dots_is_quoted_without_them() -> None:
    lines = ["Small cups ............ 3 euros", "Large cups with a lid . 5 euros", "Saucers ............... 1 euro"]
    page = passage("We sell:\n" + "\n".join(f"  {line}" for line in lines) + "\nWe take cash.")
    assert answer("What do saucers cost?", page) == "We sell:\n- Saucers — 1 euro [1]"
    assert answer("What do large cups cost?", page) == "We sell:\n- Large cups with a lid — 5 euros [1]"


def test_the_row_whose_first_cell_the_question_names_is_quoted() -> None:
    page = passage("| cup | shelf |\n| --- | --- |\n| mug set | as tumbler set, upper |\n| tumbler set | lower |\n")
    assert answer("On which shelf is the tumbler set?", page) == "- tumbler set — shelf: lower [1]"


def test_front_matter_is_not_quoted() -> None:
    page = passage("---\ntitle: Storing tea\ndescription: Where tea is stored.\n---\n\nKeep the leaves in a tin.")
    assert answer("Where is tea stored?", page) == "Keep the leaves in a tin. [1]"
    page = passage("---\n\nTea is stored in a tin.\n\n---\n\nCups are elsewhere.")  # rules between paragraphs
    assert answer("Where is tea stored?", page) == "Tea is stored in a tin. [1]"
    page = passage("---\nDecision: tea is stored in a tin.\n\n---\n\nCups are elsewhere.")
    assert "tea is stored in a tin" in answer("Where is tea stored?", page)


def test_a_table_that_is_not_quoted_to_its_end_says_so() -> None:
    rows = [f"| bell {number} | {'loud ' * 30}|" for number in range(1, 13)]
    page = passage("## Bells\n\nThe house has these bells:\n\n| bell | sound |\n|---|---|\n" + "\n".join(rows))
    quoted = answer("List of the bells of the house", page)
    assert quoted.startswith("The house has these bells:\n- bell 1 — ")
    assert quoted.endswith("\n- … [1]")
    short = passage(page.text.replace("loud " * 30, "loud "))
    assert answer("List of the bells of the house", short).endswith("- bell 12 — sound: loud [1]")
    assert "…" not in answer("How loud is bell 3?", page), "a row is the whole answer"


MODES = passage(
    "## Range and weight of all bicycles with motors\n\n"
    "| mode | range |\n| --- | --- |\n| Eco | 90 km |\n| Sport | 50 km |\n"
)


def test_of_a_table_below_a_matching_heading_only_the_matching_row_is_quoted() -> None:
    question = "What is the range and weight of bicycles with motors"
    assert answer(f"{question} in Sport?", MODES) == "- Sport — range: 50 km [1]"
    both = "- Eco — range: 90 km\n- Sport — range: 50 km [1]"
    assert answer(f"{question}?", MODES) == both
    assert answer(f"{question} in Eco and in Sport?", MODES) == both


@pytest.mark.parametrize("indentation", ["", "    "])
def test_a_wrapped_cell_with_aligned_columns_continues_in_its_column(indentation: str) -> None:
    lines = [
        "Band A  homeless, or in danger at home     within 3 months",
        "Band B  overcrowded by two rooms or more,  6 to 12 months",
        "        or cannot climb the stairs",
        "Band C  overcrowded by one room            about 3 years",
    ]
    page = passage("## Bands\n\n" + "\n".join(indentation + line for line in lines))
    assert answer("Who is in band B?", page) == (
        "Bands:\n- Band B — overcrowded by two rooms or more, or cannot climb the stairs — 6 to 12 months [1]"
    )


def test_the_first_row_of_a_table_without_a_header_is_a_row() -> None:
    """Markdown has no tables without a header: a program writes the first row in its place."""
    rows = ["weddings | $ 400", "Friday evening | $ 150", "an hour on a weekday | $ 25 with heating"]
    table = passage("| " + " |\n| ".join([rows[0], "--- | ---", *rows[1:]]) + " |")
    assert answer("What do weddings cost?", table) == "- weddings — $ 400 [1]"
    assert answer("What does a Friday evening cost?", table) == "- Friday evening — $ 150 [1]"


@pytest.mark.parametrize("name", ["2027", "after 20:00", "for 2 people", "12"])
def test_a_name_with_a_number_that_no_row_has_in_this_way_stays_a_header(name: str) -> None:
    table = passage(f"| hall | {name} |\n| --- | --- |\n| red | 300 euros |\n| blue | 14 euros |")
    assert answer("What does the blue hall cost?", table) == f"- blue — {name}: 14 euros [1]"


def test_a_header_of_which_a_row_has_the_same_kind_of_value_stays_one() -> None:
    rows = [
        "Feature | Model 14 | Model 15",
        "--- | --- | ---",
        "Successor | Model 15 | Model 16",
        "Weight | 2 kg | 3 kg",
    ]
    table = passage("| " + " |\n| ".join([*rows, "Range | 9 m | 8 m"]) + " |")
    assert answer("What is the weight?", table) == "- Weight — Model 14: 2 kg — Model 15: 3 kg [1]"
