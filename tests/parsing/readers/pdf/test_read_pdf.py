"""PDF files with text."""

import pytest

from benchmarks.support import drawn_pdf
from benchmarks.support.drawn_pdf import Text
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
