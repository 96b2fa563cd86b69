"""Tables of PDF files without lines."""

import pytest

from benchmarks.support import drawn_pdf
from benchmarks.support.drawn_pdf import Text
from tests.parsing.conftest import Read

_HEADER = ["Town", "People", "Height"]
_ROWS = [["Bergen", "285,911", "12 m"], ["Oslo", "709,037", "23 m"], ["Hamar", "32,000", "124 m"]]


def _page(rows: list[list[str]], *, gap: int = 110, size: float = 10) -> bytes:
    items = [Text(56, 780, "Towns", 18, bold=True), Text(56, 750, "The table lists towns of the country.", size)]
    for number, row in enumerate(rows):
        items += [Text(56 + gap * column, 725 - 15 * number, cell, size) for column, cell in enumerate(row) if cell]
    items.append(Text(56, 700 - 15 * len(rows), "The figures are those of the last census.", size))
    return drawn_pdf.draw([items])


def test_rows_in_columns_are_a_table(read: Read) -> None:
    text = read(_page([_HEADER, *_ROWS]), "a.pdf").text
    assert "| Town | People | Height |\n| --- | --- | --- |\n| Bergen | 285,911 | 12 m |" in text
    assert text.startswith("# Towns\n\nThe table lists towns of the country.\n\n| Town")
    assert text.endswith("| Hamar | 32,000 | 124 m |\n\nThe figures are those of the last census.")


def test_figures_at_the_ends_of_rows_are_cells(read: Read) -> None:
    rows = [["Pos.", "Name", "Sum"], ["1", "Roses", "48,00"], ["2", "Herbs", "17,50"], ["3", "Trees", "9,00"]]
    assert "| 2 | Herbs | 17,50 |\n| 3 | Trees | 9,00 |" in read(_page(rows), "a.pdf").text


def test_an_empty_cell_stays_empty(read: Read) -> None:
    assert "| Total |  | 159 m |" in read(_page([_HEADER, *_ROWS, ["Total", "", "159 m"]]), "a.pdf").text


def test_a_cell_may_have_several_lines(read: Read) -> None:
    rows = [_HEADER, _ROWS[0], _ROWS[1], ["", "", "above the sea"], _ROWS[2]]
    text = read(_page(rows), "a.pdf").text
    assert "| Oslo | 709,037 | 23 m above the sea |\n| Hamar | 32,000 | 124 m |" in text


@pytest.mark.parametrize(
    "rows",
    [
        [_HEADER, _ROWS[0]],  # too few rows
        [["-", "walk in the wood"], ["-", "talk at the lake"], ["-", "sing at the fire"]],
        [["1.", "walk in the wood"], ["2.", "talk at the lake"], ["3.", "sing at the fire"]],
        [["Walks . . . . . . .", "7"], ["Talks . . . . . . .", "19"], ["Songs . . . . . . .", "23"]],
        [["title", "= x"], ["author", "= y"], ["year", "= z"]],
        [["a", "b", "c"], ["Bergen and all other towns", "", "x"], ["d", "e", "f"]],  # reaches into the next column
    ],
)
def test_what_only_looks_like_columns_is_no_table(read: Read, rows: list[list[str]]) -> None:
    assert "|" not in read(_page(rows), "a.pdf").text


def test_columns_of_running_text_are_no_table(read: Read) -> None:
    left = [
        "The heron nests in colonies, and it",
        "comes back to the same tree in each",
        "spring. It eats fish and frogs, and",
    ]
    right = [
        "stands still for hours. The stork is",
        "larger. It nests on roofs and likes",
        "meadows that are wet all year long.",
    ]
    text = read(_page([list(pair) for pair in zip(left, right, strict=True)], gap=240), "a.pdf").text
    assert "|" not in text


def test_a_title_above_the_columns_is_no_row(read: Read) -> None:
    text = read(_page([["Stock report of the year", "", "", "Page 1"], _HEADER, *_ROWS]), "a.pdf").text
    assert "| Town | People | Height |\n| --- | --- | --- |\n| Bergen |" in text


def test_cells_without_lines_between_them_may_be_wrapped(read: Read) -> None:
    """Programs write all lines of a cell before the next cell, which begins above them."""
    cells = [
        [["Town"], ["What it is known for"], ["Height"]],
        [["Bergen", "in the west"], ["rain, fish and", "seven hills"], ["12 m"]],
        [["Oslo"], ["the opera", "and its", "white roof"], ["23 m", "at most"]],
        [["Hamar"], ["a lake"], ["124 m"]],
    ]
    items, y = [Text(56, 780, "Towns", 18, bold=True), Text(56, 750, "The table lists towns of the country.")], 725
    for row in cells:
        items += [
            Text(56 + 110 * column, y - 12 * number, line)
            for column, cell in enumerate(row)
            for number, line in enumerate(cell)
        ]
        y -= 12 * max(map(len, row)) + 8
    text = read(drawn_pdf.draw([[*items, Text(56, y - 20, "The figures are those of the last census.")]]), "a.pdf").text
    assert "| Bergen in the west | rain, fish and seven hills | 12 m |" in text
    assert "| Oslo | the opera and its white roof | 23 m at most |\n| Hamar | a lake | 124 m |" in text


def test_columns_of_paragraphs_are_read_one_after_the_other(read: Read) -> None:
    """Their lines look like cells with several lines."""
    columns = [
        [["The heron nests", "in colonies."], ["It eats fish", "and frogs."], ["It stands still", "for hours."]],
        [["The stork is", "larger."], ["It nests on", "roofs."], ["It likes", "meadows."]],
    ]
    items = [
        Text(56 + 110 * column, 780 - 44 * place - 12 * number, line)
        for column, paragraphs in enumerate(columns)
        for place, paragraph in enumerate(paragraphs)
        for number, line in enumerate(paragraph)
    ]
    text = read(drawn_pdf.draw([items]), "a.pdf").text
    assert "|" not in text
    assert text.index("for hours") < text.index("The stork")


def _drawn(*texts: tuple[float, float, str]) -> bytes:
    return drawn_pdf.draw([[Text(x, y, text) for x, y, text in texts]])


def test_cells_that_a_sheet_has_written_after_all_rows_are_put_into_theirs(read: Read) -> None:
    """Sheets write wrapped cells at last, and figures at the right side below a name at the left side."""
    rows = [
        (700, "Tool", "", "Price"),
        (685, "Press", "", "1,200"),
        (670, "Vat", "good", "3,400"),
        (655, "Cask", "", "9"),
    ]
    written = [(x, y, cell) for y, *cells in rows for x, cell in zip((56, 150, 0), cells, strict=True) if x and cell]
    prices = [(300 if y == 700 else 385 - 5 * len(price), y, price) for y, _, _, price in rows]
    cells = sorted([*written, *prices], key=lambda item: (-item[1], item[0]))
    text = read(_drawn(*cells, (150, 700, "State"), (150, 685, "leaks"), (150, 655, "mended")), "a.pdf").text
    assert text == (
        "| Tool | State | Price |\n| --- | --- | --- |\n| Press | leaks | 1,200 |\n| Vat | good | 3,400 |\n"
        "| Cask | mended | 9 |"
    )


def test_the_sign_of_a_currency_may_be_on_a_line_of_its_own(read: Read) -> None:
    header = [(56, 700, "Part"), (150, 700, "Price")]
    rows = [(56, 680, "A"), (150, 680, "640"), (150, 668, "€"), (56, 648, "B"), (150, 648, "890"), (150, 636, "€")]
    sentence = (56, 730, "These are the prices of all parts that the workshop sold in the last year.")
    assert "| A | 640 € |\n| B | 890 € |" in read(_drawn(sentence, *header, *rows), "a.pdf").text


def test_words_may_be_divided_at_the_ends_of_rows(read: Read) -> None:
    items = []
    for number, (name, text) in enumerate([("Bergen", "the most rain"), ("Oslo", "the most ice"), ("Hamar", "a lake")]):
        items += [Text(56, 725 - 30 * number, name), Text(166, 725 - 30 * number, f"the town with {text} and gar-")]
        items.append(Text(56, 710 - 30 * number, "dens"))
    text = read(drawn_pdf.draw([items]), "a.pdf").text
    assert "| Oslo | the town with the most ice and gardens |" in text


def test_names_of_groups_of_rows_are_rows(read: Read) -> None:
    rows = [_HEADER, _ROWS[0], ["East"], _ROWS[1], _ROWS[2]]
    text = read(_page(rows), "a.pdf").text
    assert "| Bergen | 285,911 | 12 m |\n| East |  |  |\n| Oslo | 709,037 | 23 m |" in text


def test_a_line_farther_from_the_rows_above_is_a_title(read: Read) -> None:
    rows = [_HEADER, *_ROWS, [], ["East"], *_ROWS]
    assert "| Hamar | 32,000 | 124 m |\n\n" in read(_page(rows), "a.pdf").text
