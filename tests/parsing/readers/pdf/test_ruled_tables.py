"""Tables of PDF files whose cells are between lines."""

import re

from benchmarks.ingestion import tables
from benchmarks.support import drawn_pdf
from benchmarks.support.drawn_pdf import Rule, Text
from tests.parsing import files
from tests.parsing.conftest import Read


def test_signs_of_markdown_in_cells_are_not_formatting(read: Read) -> None:
    rows = [["Name | sign", "*Price*"], ["A_b_c", "[1](x)"], ["Pear `x`", "4"]]
    content = drawn_pdf.draw([tables.page(rows, ruled=True)])
    assert (
        "| Name \\| sign | *Price* |\n| --- | --- |\n| A_b_c | [1](x) |\n| Pear `x` | 4 |"
        in read(content, "a.pdf").text
    )


def test_a_frame_around_text_is_no_table(read: Read) -> None:
    frame = [Rule(50, 600, 400, 600), Rule(50, 700, 400, 700), Rule(50, 600, 50, 700), Rule(400, 600, 400, 700)]
    content = drawn_pdf.draw([[*frame, Text(60, 680, "Read this notice first."), Text(60, 660, "Then sign below.")]])
    assert "|" not in read(content, "a.pdf").text


def test_text_around_a_table_keeps_its_order(read: Read) -> None:
    tables_on_page = [[["Name", "Price"], ["Apple", "3"], ["Pear", "4"]], [["Town", "Size"], ["Bergen", "9"]]]
    text = read(drawn_pdf.draw([tables.page(*tables_on_page, ruled=True)]), "a.pdf").text
    order = ["# Report", "number 1", "| Apple | 3 |", "number 2", "| Bergen | 9 |", "These figures"]
    assert sorted(order, key=text.index) == order
    assert text.count("Apple") == 1


def test_words_that_are_divided_within_a_cell_are_joined(read: Read) -> None:
    rows = [["Name", "What it is"], ["Bee", "a really remark- able insect"], ["Wasp", "the other one"]]
    assert "| Bee | a really remarkable insect |" in read(drawn_pdf.draw([tables.page(rows, ruled=True)]), "a.pdf").text


def test_columns_of_hebrew_begin_at_the_right(read: Read) -> None:
    """Letters `a` to `f` are Hebrew, written from the left to the right as they are seen; `g` and `h` are figures."""
    rules = " ".join(f"72 {y} m 272 {y} l S" for y in (600, 620, 640))
    rules += " " + " ".join(f"{x} 600 m {x} 640 l S" for x in (72, 172, 272))
    cells = ((180, 625, "abcdef"), (80, 625, "gh"), (180, 605, "fedcba"), (80, 605, "hg"))
    shown = " ".join(f"BT /F1 12 Tf {x} {y} Td ({text}) Tj ET" for x, y, text in cells)
    text = read(
        files.pdf_with_letters(f"0.7 w {rules} {shown}", "\u05d0\u05d1\u05d2\u05d3\u05d4\u05d512"), "a.pdf"
    ).text
    assert re.findall(r"\| \S+ \| (\d+) \|", text) == ["12", "21"]
