"""PDF files with text."""

from dataclasses import replace

import pytest

from benchmarks.support import drawn_pdf
from benchmarks.support.drawn_pdf import Square, Text
from rag.types import Page
from tests.parsing import files
from tests.parsing.conftest import Read


def test_pdf_has_pages_and_hyphenated_words_are_joined(read: Read) -> None:
    parsed = read(files.pdf(["Bees are remark-\nable insects.", "", "Wasps are too."]), "a.pdf")
    assert parsed.text == "Bees are remarkable insects.\n\nWasps are too."
    assert parsed.pages == (Page(0, 1), Page(30, 3))


def test_pdf_with_an_empty_password_is_read(read: Read) -> None:
    assert read(files.pdf(["Printing is forbidden."], password=""), "a.pdf").text == "Printing is forbidden."


def _paragraph(y: float) -> list[Text]:
    lines = ["The bridge crosses the river at its narrowest place, and it has stood there", "for two hundred years."]
    return [Text(56, y - 14 * number, line) for number, line in enumerate(lines)]


@pytest.mark.parametrize(("declared", "title"), [("", "The Old Bridge"), ("Bridges of Trüb", "Bridges of Trüb")])
def test_larger_lines_of_a_laid_out_pdf_are_headings(read: Read, declared: str, title: str) -> None:
    """Without a declared title, the highest heading of the first page is the title."""
    first = [Text(56, 780, "The Old Bridge", 22, bold=True), *_paragraph(750)]
    first += [Text(56, 700, "How it was built", 15, bold=True), *_paragraph(680)]
    second = [Text(56, 780, "How it is kept", 15, bold=True), *_paragraph(750)]
    parsed = read(drawn_pdf.draw([first, second], title=declared), "a.pdf")
    assert parsed.title == title
    headings = [(heading.level, heading.title) for heading in parsed.headings]
    assert headings == [(1, "The Old Bridge"), (2, "How it was built"), (2, "How it is kept")]
    assert parsed.text[parsed.pages[1].start :].startswith("## How it is kept\n\nThe bridge crosses")
    assert "narrowest place, and it has stood there for two hundred years." in parsed.text


def test_drawn_bullets_begin_items(read: Read) -> None:
    """Browsers draw the bullets of a printed page, and write only the text."""
    items = [
        "Green waste: free up to 1 cubic metre",
        "Rubble: 4 euros for 50 litres, which the",
        "scale measures",
        "Tyres",
    ]
    page: list[Text | Square] = [Text(56, 750, "Please bring these things to the yard in the morning only:")]
    page += [Text(76, 730 - 13 * number, item) for number, item in enumerate(items)]
    page += [Square(64, 732 - 13 * number, 3.5) for number in (0, 1, 3)]
    text = read(drawn_pdf.draw([page]), "a.pdf").text
    assert text.endswith(
        "\n\n- Green waste: free up to 1 cubic metre\n"
        "- Rubble: 4 euros for 50 litres, which the scale measures\n- Tyres"
    )


@pytest.mark.parametrize(("x", "size", "number"), [(64, 12, 1), (20, 3.5, 1), (64, 3.5, 600)])
def test_drawings_are_no_bullets(read: Read, x: float, size: float, number: int) -> None:
    """They are large, or far from the text, or many."""
    page: list[Text | Square] = [Text(76, 750 - 13 * line, f"line {line} of the yard") for line in range(4)]
    page += [Square(x, 752 - 13 * line, size) for line in range(4) for _ in range(number)]
    assert "- line" not in read(drawn_pdf.draw([page]), "a.pdf").text


def test_bullets_that_are_filled_and_then_outlined_begin_items(read: Read) -> None:
    page: list[Text | Square] = [Text(76, 750 - 13 * line, f"line {line} of the yard") for line in range(4)]
    page += [Square(64 - add, 752 - 13 * line - add, 3.5 + 2 * add) for line in range(4) for add in (0, 0.3)]
    assert read(drawn_pdf.draw([page]), "a.pdf").text.count("- line") == 4


def test_a_pattern_beside_a_text_is_no_list(read: Read) -> None:
    page: list[Text | Square] = [Text(76, 750 - 13 * line, f"line {line} of the yard") for line in range(4)]
    page += [Square(x, 752 - 13 * line, 3.5) for line in range(4) for x in (48, 56, 64)]
    assert "- line" not in read(drawn_pdf.draw([page]), "a.pdf").text


@pytest.mark.parametrize(
    ("last", "first", "joined"),
    [
        ("The board is asked to agree a market supplement", "of 2,500 a year for surveyors.", True),
        ("The board is asked to agree a market supplement.", "of 2,500 a year for surveyors.", False),
        ("The board is asked to agree a market supplement", "Surveyors get it for two years.", False),
        ("The board is asked to agree a market supplement", "b) surveyors get it for two years.", False),
        ("The board agrees", "of 2,500 a year for surveyors.", False),
    ],
)
def test_a_paragraph_goes_on_on_the_next_page(read: Read, last: str, first: str, joined: bool) -> None:
    parsed = read(drawn_pdf.draw([[Text(56, 60, last)], [Text(56, 780, first)]]), "a.pdf")
    assert parsed.text == ("\n" if joined else "\n\n").join([last, first])
    assert [page.number for page in parsed.pages] == [1, 2]
    assert parsed.text[parsed.pages[1].start :] == first


def test_a_pdf_whose_pages_have_no_size_is_read(read: Read) -> None:
    content = drawn_pdf.draw([[Text(56, 700, "The heron nests in colonies.")]])
    size = b"/MediaBox [0 0 595 842]"
    assert size in content
    assert read(content.replace(size, b" " * len(size)), "a.pdf").text == "The heron nests in colonies."


def test_a_later_part_does_not_give_the_title(read: Read) -> None:
    lines = [Text(56, 780 - 14 * line, "The committee met in the hall and read the letters.") for line in range(3)]
    items = [
        *lines,
        Text(56, 700, "6 Reports were made", bold=True),
        *(replace(line, y=line.y - 100) for line in lines),
    ]
    parsed = read(drawn_pdf.draw([items]), "a.pdf")
    assert [heading.title for heading in parsed.headings] == ["6 Reports were made"]
    assert parsed.title == ""


def test_the_title_of_another_document_is_none(read: Read) -> None:
    lines = [
        Text(56, 700 - 14 * number, "The old bridge was built of stone from the hill behind the town.")
        for number in range(20)
    ]
    parsed = read(drawn_pdf.draw([[Text(56, 760, "The Old Bridge", 20), *lines]], title="Privacy statement"), "a.pdf")
    assert parsed.title == "The Old Bridge"
