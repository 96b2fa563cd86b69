"""Tables of PDF files whose cells are between lines."""

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest

from benchmarks.ingestion import tables
from benchmarks.support import drawn_pdf
from benchmarks.support.drawn_pdf import Bar, Rule, Text
from rag.parsing.readers.pdf.tables.lines_of_tables import find_lines
from rag.parsing.readers.pdf.tables.ruled_tables import RuledTable
from rag.parsing.readers.pdf.text_lines import TextLine
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


def test_tables_that_are_open_at_their_sides_have_all_cells(read: Read) -> None:
    rows = [["Name", "Colour", "Price"], ["Apple", "red", "3"], ["Pear", "green", "4"], ["Plum", "blue", "5"]]
    items: list[Rule | Text] = [Rule(56, 700 - 20 * line, 356, 700 - 20 * line) for line in range(1, 4)]
    items += [Rule(56 + 100 * column, 700, 56 + 100 * column, 620) for column in (1, 2)]
    # Only the lines show the columns: the texts begin at other places in each row.
    items += [
        Text(60 + 100 * x + 13 * (y + x) % 40, 686 - 20 * y, cell)
        for y, row in enumerate(rows)
        for x, cell in enumerate(row)
    ]
    text = read(drawn_pdf.draw([items]), "a.pdf").text
    assert "| Name | Colour | Price |\n| --- | --- | --- |\n| Apple | red | 3 |" in text
    assert text.endswith("| Plum | blue | 5 |")


def _frame_with_header(rows: Sequence[Sequence[str]]) -> bytes:
    """A table with lines around it and below its header, but none between its rows."""
    bottom = 696 - 14 * len(rows)
    items: list[Rule | Text] = [Rule(56, y, 456, y) for y in (700, 684, bottom)]
    items += [Rule(x, 700, x, bottom) for x in (56, 256, 356, 456)]
    items += [
        Text(60 + (0, 200, 300)[x], 688 - 14 * y, cell) for y, row in enumerate(rows) for x, cell in enumerate(row)
    ]
    return drawn_pdf.draw([items])


def test_rows_without_a_line_between_them_are_divided(read: Read) -> None:
    rows = [["Article", "Number", "Price"], ["Nut M4", "20", "0.12"], ["Bolt M6", "", "3.50"], ["Hook", "5", "10.00"]]
    text = read(_frame_with_header(rows), "a.pdf").text
    assert text.endswith("| Nut M4 | 20 | 0.12 |\n| Bolt M6 |  | 3.50 |\n| Hook | 5 | 10.00 |")


@pytest.mark.parametrize(
    "rows",
    [
        [["A bee that", "12", "Sold by"], ["hums at noon", "14", "weight"]],
        [["A bee", "May", "12 pieces"], ["", "June", "14 pieces"]],
        [["Bees", "Mr Miller", "Sold by Ms"], ["Wasps", "Jr.", "Smith"]],
    ],
    ids=["sentence", "without first cell", "without values"],
)
def test_wrapped_cells_between_two_lines_stay_one_row(read: Read, rows: list[list[str]]) -> None:
    text = read(_frame_with_header([["Name", "From", "Note"], *rows]), "a.pdf").text
    row = " | ".join(" ".join(filter(None, cells)) for cells in zip(*rows, strict=True))
    assert text.endswith(f"| {row} |")


def test_the_background_of_the_text_of_a_cell_is_no_cell(read: Read) -> None:
    """Some programs fill each cell, and the part of it that has text."""
    cells = [(x, y) for y in (620, 600) for x in (72, 172)]
    filled = [f"0.9 g {x} {y} 100 20 re f 0.9 g {x + 5} {y + 2} 90 16 re f" for x, y in cells]
    shown = [f"0 g BT /F1 12 Tf {x + 8} {y + 5} Td ({'abcd'[number]}x) Tj ET" for number, (x, y) in enumerate(cells)]
    text = read(files.pdf_with_letters(" ".join([*filled, *shown]), "klmnopqrstuvwxyzabcdefgh"), "a.pdf").text
    assert text == "| kh | lh |\n| --- | --- |\n| mh | nh |"


def test_white_backgrounds_of_lines_of_text_are_no_cells(read: Read) -> None:
    """Some programs fill each line of text. The first line of a paragraph begins farther to the right."""
    lines = [(64, 150, "ART. 1 OUR NAME"), (64, 416, "Our club was founded in Bergen, and has its seat there,")]
    lines += [(56, 200, "as well as the boats of all members."), (64, 416, "Everybody who likes boats may join it")]
    lines += [(56, 300, "and pays the fee of the year.")]
    items: list[Bar | Text] = [Bar(x, 700 - 14 * y, width, 14.2, gray=1) for y, (x, width, _) in enumerate(lines)]
    items += [Bar(64, 700, 40, 1), *(Text(x, 704 - 14 * y, text) for y, (x, _, text) in enumerate(lines))]
    text = read(drawn_pdf.draw([items]), "a.pdf").text
    assert "has its seat there, as well as the boats" in text


def test_backgrounds_of_texts_in_later_tables_are_no_cells(read: Read) -> None:
    places = [(x, y) for y in range(40) for x in range(3)]
    items: list[Bar | Text] = []
    for x, y in places:
        left, bottom = 56 + 120 * x, 780 - 16 * y
        items += [Bar(left, bottom, 119.5, 15.5, gray=0.9), Bar(left + 5, bottom, 109.5, 15.5, gray=0.9)]
        items.append(Text(left + 8, bottom + 4, f"{'abc'[x]}{y}"))
    assert "| a30 | b30 | c30 |" in read(drawn_pdf.draw([items]), "a.pdf").text


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


def _shaded(rows: Sequence[Sequence[str]], *, size: float = 10) -> list[Text | Rule]:
    items: list[Text | Rule] = [Rule(x, 700, x, 700 - 20 * len(rows)) for x in (56, 256, 356)]
    items += [Rule(56, 700 - 20 * y, 356, 700 - 20 * y) for y in range(len(rows) + 1)]
    items += [Text((60, 260)[x], 686 - 20 * y, cell, size) for y, row in enumerate(rows) for x, cell in enumerate(row)]
    return items


def test_letters_that_reach_across_a_line_belong_to_one_row(read: Read) -> None:
    """A second line right below a row is crossed by the lower parts of its letters."""
    rows = [["Artikel", "Preis"], ["Pappeltyp gy", "12,50"], ["Jagdpeggy", "7,10"], ["Zypresse gq", "9,90"]]
    items = [*_shaded(rows, size=14), *(Rule(56, 700 - 20 * y + 5.5, 356, 700 - 20 * y + 5.5) for y in (2, 3))]
    text = read(drawn_pdf.draw([items]), "a.pdf").text
    assert "| Pappeltyp gy | 12,50 |\n| Jagdpeggy | 7,10 |\n| Zypresse gq | 9,90 |" in text


def test_names_in_bold_type_are_no_headings(read: Read) -> None:
    rows = [["Cleaning", "Price"], ["Sofa", "1700"], ["Chair", "400"], ["Carpet", "350"]]
    items = [replace(item, bold=item.x == 60) if isinstance(item, Text) else item for item in _shaded(rows)]
    items += [Text(56, 560 - 14 * line, "The prices include the way to you and all material.") for line in (0, 1)]
    parsed = read(drawn_pdf.draw([items]), "a.pdf")
    assert "| Sofa | 1700 |\n| Chair | 400 |\n| Carpet | 350 |" in parsed.text
    assert not parsed.headings


def _timetable(header: Text, *others: Text) -> bytes:
    """A table of two columns, whose texts were written column by column. `header`: its first row."""
    rows = [("8:00", "The first boat leaves"), ("9:30", "The museum opens"), ("12:00", "Lunch on the pier")]
    items: list[Rule | Text] = [Rule(56, 700 - 20 * number, 356, 700 - 20 * number) for number in range(len(rows) + 2)]
    items += [Rule(x, 700, x, 620) for x in (56, 356)]
    items += [Rule(156, 680 if header.size > 14 else 700, 156, 620)]
    cells = [Text(60 + 100 * column, 666 - 20 * y, row[column]) for column in (0, 1) for y, row in enumerate(rows)]
    return drawn_pdf.draw([[Text(56, 740, "Please be in time."), *items, header, *others, *cells]])


def test_a_title_across_a_table_is_a_heading(read: Read) -> None:
    parsed = read(_timetable(Text(60, 685, "Monday", 16)), "a.pdf")
    assert [heading.title for heading in parsed.headings] == ["Monday"]
    assert "Monday\n\n| 8:00 | The first boat leaves |\n| --- | --- |\n| 9:30 | The museum opens |" in parsed.text


def test_equal_titles_across_a_table_divide_it_at_each_of_them(read: Read) -> None:
    """The cells were written column by column, so that only the place of each part shows its lines."""
    rows = [("8:00", "The first boat"), ("9:30", "The museum"), ("12:00", "The old pier"), ("13:00", "The island")]
    rows += [("16:00", "The last boat"), ("18:00", "The long way home")]
    tops = [700 - 20 * number for number in (0, 1, 3, 4, 6, 7)]
    items: list[Rule | Text] = [Rule(56, 700 - 20 * number, 356, 700 - 20 * number) for number in range(9)]
    items += [Rule(x, 700, x, 540) for x in (56, 356)] + [Rule(156, top, 156, top - 20) for top in tops]
    for part in (0, 2, 4):
        cells = [(column, number) for column in (0, 1) for number in (part, part + 1)]
        items += [Text(60 + 100 * column, tops[number] - 14, rows[number][column]) for column, number in cells]
        items += [Text(60, tops[part + 1] - 35, "Break", 16)] if part < 4 else []
    text = read(drawn_pdf.draw([[Text(56, 740, "Please be in time."), *items]]), "a.pdf").text
    parts = ["\n| --- | --- |\n".join(f"| {time} | {name} |" for time, name in rows[at : at + 2]) for at in (0, 2, 4)]
    assert "\n\n# Break\n\n".join(parts) in text


def test_names_of_columns_in_large_type_belong_to_their_table(read: Read) -> None:
    text = read(_timetable(Text(60, 685, "Time", 14), Text(160, 685, "What", 14)), "a.pdf").text
    assert "| Time | What |\n| --- | --- |\n| 8:00 | The first boat leaves |" in text


@pytest.mark.parametrize(("size", "count"), [(16, 0), (10, 8)])
def test_lines_around_parts_of_a_page_with_headings_are_no_table(size: float, count: int) -> None:
    cells = [("Opening hours", 100, 680), ("How to join", 300, 680), ("Our boats", 100, 580), ("The lake", 300, 580)]
    lines = [
        TextLine(text, x, y - 20 * below, y - 20 * below, height, False, False, -1)
        for title, x, y in cells
        for below, (text, height) in enumerate([(title, size), ("We meet on Sundays", 10.0)])
    ]
    texts = [f"{title}\nWe meet on Sundays" for title, _, _ in cells]
    assert len(find_lines(RuledTable([texts[:2], texts[2:]], 56, 500, 456, 700), lines)) == count


def test_a_form_has_the_names_of_its_columns_as_a_row(read: Read) -> None:
    items: list[Rule | Text] = [Rule(56, 700 - 20 * number, 356, 700 - 20 * number) for number in range(4)]
    items += [Rule(x, 700, x, 640) for x in (56, 156, 256, 356)]
    items += [Text(60 + 100 * x, 686, name) for x, name in enumerate(["Name", "Date", "Signature"])]
    assert "| Name | Date | Signature |" in read(drawn_pdf.draw([items]), "a.pdf").text


def test_a_form_may_have_double_lines(read: Read) -> None:
    items: list[Rule | Text] = [Rule(56, 700 - 20 * number, 356, 700 - 20 * number) for number in range(4)]
    items += [Rule(x, 700, x, 640) for x in (56, 61, 156, 161, 256, 261, 356)]
    items += [Text(64 + 100 * x, 686, name) for x, name in enumerate(["Name", "Date", "Signature"])]
    assert "| Name | Date | Signature |" in read(drawn_pdf.draw([items]), "a.pdf").text


def test_a_grid_with_few_words_is_no_form(read: Read) -> None:
    """Such as a letterhead or a planner."""
    items: list[Rule | Text] = [Rule(56, 700 - 20 * number, 456, 700 - 20 * number) for number in range(4)]
    items += [Rule(x, 700, x, 640) for x in (56, 156, 256, 356, 456)]
    items += [Text(60, 686, "Our new boathouse"), Text(360, 686, "Spring of 2024")]
    text = read(drawn_pdf.draw([items]), "a.pdf").text
    assert "Our new boathouse" in text
    assert "|" not in text


def test_a_double_line_is_no_column(read: Read) -> None:
    items: list[Rule | Text] = [Rule(56, 700 - 20 * number, 356, 700 - 20 * number) for number in range(3)]
    items += [Rule(x, 700, x, 660) for x in (56, 152, 157, 356)]
    items += [Text(60 + 100 * x, 686 - 20 * y, f"cell {x}{y}") for y in (0, 1) for x in (0, 1)]
    assert "| cell 00 | cell 10 |\n| --- | --- |\n| cell 01 | cell 11 |" in read(drawn_pdf.draw([items]), "a.pdf").text


def test_lines_that_are_narrow_rectangles_count_once(read: Read) -> None:
    """Word draws a rectangle for each side of a cell: a page of a timetable has a thousand of them."""
    cells = [(x, y) for y in range(30) for x in range(10)]
    items: list[Bar | Text] = [Bar(56 + 48 * x, 760 - 20 * y, 48, 0.5) for x, y in cells]
    items += [Bar(56 + 48 * x, 740 - 20 * y, 48, 0.5) for x, y in cells]
    items += [Bar(56 + 48 * x, 740 - 20 * y, 0.5, 20) for x, y in cells]
    items += [Text(60 + 48 * x, 746 - 20 * y, f"c{x}-{y}", 8) for x, y in cells]
    assert "| c0-9 | c1-9 | c2-9 | c3-9 |" in read(drawn_pdf.draw([items]), "a.pdf").text
