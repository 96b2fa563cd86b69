"""PDF pages whose boxes were written in another order."""

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
