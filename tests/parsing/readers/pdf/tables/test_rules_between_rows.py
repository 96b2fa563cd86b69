"""Tables of PDF files that have lines between their rows only."""

from collections.abc import Sequence

from benchmarks.support import drawn_pdf
from benchmarks.support.drawn_pdf import Rule, Text
from tests.parsing.conftest import Read

_PRICES = [["Boat for two", "12 EUR"], ["Boat for four", "19 EUR"], ["Swan", "25 EUR (per hour)"]]


def _items(rows: Sequence[Sequence[str]], top: float, *, step: float = 24, xs: Sequence[int] = (60, 300)) -> list[Text]:
    return [
        Text(x, top - step * number, cell)
        for number, row in enumerate(rows)
        for x, cell in zip(xs, row, strict=False)
        if cell
    ]


def _rules(count: int, top: float, *, step: float = 24) -> list[Rule]:
    return [Rule(56, top - step * number, 456, top - step * number) for number in range(count)]


def test_two_rows_with_a_line_below_each_are_a_table(read: Read) -> None:
    page: list[Rule | Text] = [Text(56, 760, "Prices", 18, bold=True), *_items(_PRICES[:2], 700), *_rules(2, 695)]
    assert read(drawn_pdf.draw([page]), "a.pdf").text == (
        "# Prices\n\n| Boat for two | 12 EUR |\n| --- | --- |\n| Boat for four | 19 EUR |"
    )


def test_the_lines_of_a_cell_are_in_its_row(read: Read) -> None:
    page: list[Rule | Text] = [*_items(_PRICES[:1], 720), Rule(56, 715, 456, 715)]
    page += [Text(60, 700, "Boat for six"), Text(60, 688, "(with a roof)", 8), Text(300, 688, "30 EUR")]
    page += [Rule(56, 683, 456, 683), *_items(_PRICES[2:], 668), Rule(56, 663, 456, 663)]
    text = read(drawn_pdf.draw([page]), "a.pdf").text
    assert "| Boat for six (with a roof) | 30 EUR |\n| Swan | 25 EUR (per hour) |" in text


def test_a_title_between_two_lines_divides_tables(read: Read) -> None:
    page: list[Rule | Text] = [*_items(_PRICES, 720), *_rules(3, 715), Text(56, 640, "Food", 14, bold=True)]
    page += [*_items([["Soup", "4 EUR"], ["Cake", "3 EUR"]], 610), *_rules(2, 605), Text(56, 520, "Card or cash.")]
    text = read(drawn_pdf.draw([page]), "a.pdf").text
    assert "| Swan | 25 EUR (per hour) |\n\n# Food\n\n| Soup | 4 EUR |\n| --- | --- |\n| Cake | 3 EUR |" in text


def test_cells_that_were_written_by_columns_are_in_their_rows(read: Read) -> None:
    items = _items(_PRICES, 720)
    page: list[Rule | Text] = [Text(56, 760, "Boats", 18, bold=True), *items[::2], *items[1::2], *_rules(3, 715)]
    text = read(drawn_pdf.draw([page]), "a.pdf").text
    assert text.endswith(
        "| Boat for two | 12 EUR |\n| --- | --- |\n| Boat for four | 19 EUR |\n| Swan | 25 EUR (per hour) |"
    )


def test_the_row_below_the_last_line_is_in_the_table(read: Read) -> None:
    rows = [["Boat", "Price", "Hours"], ["Swan", "25 EUR", "9 to 17"], ["Canoe", "12 EUR", "9 to 12"]]
    page: list[Rule | Text] = [
        *_items(rows, 720, xs=(60, 200, 330)),
        *_rules(2, 715),
        Text(56, 560, "The lake is open all year."),
    ]
    text = read(drawn_pdf.draw([page]), "a.pdf").text
    assert (
        "| Boat | Price | Hours |\n| --- | --- | --- |\n| Swan | 25 EUR | 9 to 17 |\n| Canoe | 12 EUR | 9 to 12 |"
        in text
    )


def test_blanks_of_a_form_and_lines_around_paragraphs_are_no_tables(read: Read) -> None:
    form: list[Rule | Text] = [*_items([["Name"], ["Street"], ["Town"]], 720), *_rules(3, 715)]
    assert "|" not in read(drawn_pdf.draw([form]), "a.pdf").text
    text: list[Rule | Text] = [
        Text(60, 720, "The lake is open all year."),
        Text(60, 696, "Dogs may swim in it."),
        *_rules(3, 740),
    ]
    assert "|" not in read(drawn_pdf.draw([text]), "a.pdf").text


def test_the_text_between_the_lines_of_header_and_footer_is_no_row(read: Read) -> None:
    sentence = "This is an ordinary page of text between two lines across the page"
    page: list[Rule | Text] = [Text(56, 800, "Journal"), Text(400, 800, "May 2024"), Rule(56, 795, 456, 795)]
    page += [Text(56, 770 - 14 * number, f"{sentence} {number}") for number in range(40)]
    page += [Rule(56, 60, 456, 60), Text(56, 48, "Published by the club"), Text(400, 48, "Page 7")]
    assert "|" not in read(drawn_pdf.draw([page]), "a.pdf").text
