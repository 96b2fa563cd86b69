"""Tables of PDF files whose cells are between lines."""

from benchmarks.ingestion import tables
from benchmarks.support import drawn_pdf
from benchmarks.support.drawn_pdf import Rule, Text
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
