"""Columns of PDF pages that were written in another order."""

from collections.abc import Sequence

from benchmarks.support import drawn_pdf
from benchmarks.support.drawn_pdf import Text
from tests.parsing.conftest import Read

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
