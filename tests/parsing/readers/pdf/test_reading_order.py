"""PDF pages whose boxes were written in another order."""

import itertools
from collections.abc import Sequence

import pypdfium2 as pdfium
import pytest

from benchmarks.support import drawn_pdf
from benchmarks.support.drawn_pdf import Text
from rag.parsing.readers.pdf.order.by_place import order_by_place
from rag.parsing.readers.pdf.text_lines import PageLines, TextLine
from rag.parsing.readers.pdf.work_budget import WorkBudget, WorkExceeded
from tests.parsing.conftest import Read
from tests.support.checks.growth import takes_linear_time

_SENTENCES = ["The boats are at the pier,", "and every guest gets a vest,", "which is worn on the lake."]


def _box(x: float, y: float, title: str) -> list[Text]:
    lines = [Text(x, y - 18 - 12 * number, line) for number, line in enumerate(_SENTENCES)]
    return [Text(x, y, title, 14, bold=True), *lines]


def _titles(read: Read, items: Sequence[Text]) -> list[str]:
    return [heading.title for heading in read(drawn_pdf.draw([items]), "a.pdf").headings]


def test_boxes_of_columns_are_read_from_the_top_column_by_column(read: Read) -> None:
    items = [*_box(56, 400, "Tuesday"), *_box(320, 700, "Friday"), *_box(56, 700, "Monday"), *_box(320, 400, "Sunday")]
    assert _titles(read, items) == ["Monday", "Tuesday", "Friday", "Sunday"]


def test_titles_beside_each_other_belong_to_their_columns(read: Read) -> None:
    left, right = _box(56, 700, "Monday"), _box(320, 700, "Friday")
    items = [*left[1:], *_box(56, 400, "Tuesday"), left[0], right[0], *right[1:], *_box(320, 400, "Sunday")]
    assert _titles(read, items) == ["Monday", "Tuesday", "Friday", "Sunday"]


def test_a_line_across_the_page_divides_columns(read: Read) -> None:
    across = Text(
        56, 480, "All of our boats are checked by the harbour master before the summer, and nobody sails alone on it."
    )
    items = [*_box(56, 700, "Monday"), *_box(320, 400, "Sunday"), across, *_box(320, 700, "Friday")]
    items += _box(56, 400, "Tuesday")
    assert _titles(read, items) == ["Monday", "Friday", "Tuesday", "Sunday"]


def test_columns_that_were_written_in_turn_keep_their_order(read: Read) -> None:
    items = [*_box(320, 700, "Cover"), *_box(320, 400, "Address"), *_box(56, 700, "Back"), *_box(56, 400, "Map")]
    assert _titles(read, items) == ["Cover", "Address", "Back", "Map"]


def test_rows_that_were_written_across_the_page_stay_rows(read: Read) -> None:
    rows = [[f"Boat number {number}", f"for {number} to {number + 2} guests"] for number in range(2, 16)]
    items = [Text(x, 700 - 30 * y, cell) for y, row in enumerate(rows) for x, cell in zip((56, 320), row, strict=True)]
    text = read(drawn_pdf.draw([[items[-1], *items[:-1]]]), "a.pdf").text
    assert text.index("for 3 to 5 guests") < text.index("Boat number 4")


def test_a_title_that_was_written_last_is_read_first(read: Read) -> None:
    text = read(drawn_pdf.draw([[*_box(56, 600, "Prices")[1:], Text(56, 700, "Boat club", 18)]]), "a.pdf").text
    assert text == f"# Boat club\n\n{' '.join(_SENTENCES)}"


def test_a_wide_column_beside_a_narrow_one_is_not_mixed_with_it(read: Read) -> None:
    names = [Text(56, 700 - 14 * number, f"Captain {number} of the club") for number in range(20)]
    wide = [f"{sentence} and all of us look forward to every day on the lake" for sentence in _SENTENCES]
    lines = [Text(180, 690 - 12 * number, line) for number, line in enumerate(wide)]
    text = read(drawn_pdf.draw([[*names, *_box(180, 440, "Tuesday"), *_box(180, 560, "Monday"), *lines]]), "a.pdf").text
    assert " ".join(wide) in text


def test_labels_that_were_written_apart_stay_beside_their_items(read: Read) -> None:
    labels = [Text(56, 700 - 12 * number, f"1.{number}") for number in range(1, 15)]
    items = [Text(110, 700 - 12 * number, f"Rule number {number} of the club") for number in range(14, 0, -1)]
    text = read(drawn_pdf.draw([[*labels, *items]]), "a.pdf").text
    assert text.index("1.3") < text.index("Rule number 3") < text.index("1.4")


def test_a_page_that_was_written_from_the_bottom_is_read_from_the_top(read: Read) -> None:
    items = [Text(56, 700 - 14 * number, f"Rule number {number} of the club") for number in range(14, 0, -1)]
    assert read(drawn_pdf.draw([items]), "a.pdf").text.startswith("Rule number 1 of the club Rule number 2")


_DISHES = [
    ("Soup of the day", "4.50"),
    ("Salad with tomatoes", "7.90"),
    ("Cheese and bread", "6.20"),
    ("Fish", "12.00"),
]


def test_names_and_prices_of_each_column_stay_together(read: Read) -> None:
    """A program for layout wrote the prices of the right column first, and the titles last."""
    more = "with bread and herbs of our garden"
    right = [Text(500, 660 - 30 * y, price) for y, (_, price) in enumerate(_DISHES)]
    right += [Text(320, 660 - 30 * y, f"Small {name.lower()}") for y, (name, _) in enumerate(_DISHES)]
    left = [Text(56, 660 - 30 * y, name) for y, (name, _) in enumerate(_DISHES)]
    left += [Text(240, 660 - 30 * y, price) for y, (_, price) in enumerate(_DISHES)]
    left += [Text(x, 648 - 30 * y, more, 8) for x in (56, 320) for y in range(len(_DISHES))]
    titles = [
        Text(120, 690, "Dinner", 14),
        Text(380, 690, "Lunch", 14),
        Text(120, 740, "Our dishes and prices of this summer", 20),
    ]
    text = read(drawn_pdf.draw([[*right, *left, *titles]]), "a.pdf").text
    order = [
        "# Our dishes",
        "# Dinner",
        "Soup of",
        "4.50",
        "Fish",
        "12.00",
        "# Lunch",
        "Small soup",
        "4.50",
        "Small fish",
    ]
    places = [0]
    for part in order:
        places.append(text.index(part, places[-1]))
    for name, price in _DISHES:
        assert any(name in line and line.count(price) == 1 for line in text.splitlines())


def test_a_table_whose_cells_were_written_from_the_end_keeps_its_rows(read: Read) -> None:
    cells = [["Boat", "From", "To"], ["Anna", "Bergen", "Oslo"], ["Berta", "Turku", "Kiel"], ["Clara", "Riga", "Visby"]]
    items = [Text(56 + 120 * x, 700 - 20 * y, row[x]) for y, row in reversed(list(enumerate(cells))) for x in (2, 1, 0)]
    text = read(drawn_pdf.draw([items]), "a.pdf").text
    assert "| Anna | Bergen | Oslo |\n| Berta | Turku | Kiel |" in text


def test_cards_below_a_title_are_read_one_after_the_other(read: Read) -> None:
    titles = ["Small event", "Large event", "Whole day"]
    cards = [_box(56 + 170 * number, 640, title) for number, title in enumerate(titles)]
    wide = Text(56, 700, "Our prices for every event and every day of the year in one list", 16)
    items = [*cards[2][1:], *cards[0], cards[2][0], *cards[1], wide]
    assert _titles(read, items) == [wide.text, *titles]


def test_lines_of_two_columns_are_not_read_as_a_table(read: Read) -> None:
    """The other library takes two price lists beside each other for one table."""
    pages = []
    for right in (300, 320):
        lists = [[Text(x, 700, f"Drinks {x}", bold=True), *_prices(x)] for x in (56, right)]
        pages.append([item for column in lists for item in column])
    text = read(drawn_pdf.draw(pages), "a.pdf").text
    assert not any("Tea" in line.split("|", 3)[-1] and line.count("|") > 3 for line in text.splitlines())


def _prices(x: float) -> list[Text]:
    drinks = ["Tea", "Milk and honey", "Water", "Lemonade of the house", "Juice"]
    names = [[Text(x, 680 - 14 * y, name), Text(x + 140, 680 - 14 * y, f"{y + 2}.50")] for y, name in enumerate(drinks)]
    return [item for row in names for item in row]


def _lines_of(pdf: bytes) -> tuple[PageLines, list[TextLine]]:
    page = PageLines(pdfium.PdfDocument(pdf)[0], 100_000)
    return page, page.lines()


def test_columns_of_a_page_are_found_in_linear_time() -> None:
    def rows(columns: int, number: int) -> bytes:
        cells = itertools.product(range(4), range(columns))
        return drawn_pdf.draw([[Text(5 + 6 * x, 100 + 10 * y, f"{number}" if x % 2 else "word", 1) for y, x in cells]])

    def order(pdf: bytes) -> None:
        order_by_place(*_lines_of(pdf), [], WorkBudget(5_000_000))

    assert takes_linear_time(order, rows, 480)


def test_the_work_for_the_columns_of_a_document_is_limited() -> None:
    pdf = drawn_pdf.draw([[*_box(50, 100, "Fees"), *_box(300, 100, "Times"), *_box(50, 700, "Rules")]])
    with pytest.raises(WorkExceeded):
        order_by_place(*_lines_of(pdf), [], WorkBudget(1))
