"""PDF files with text."""

from rag.types import Page
from tests.parsing import files
from tests.parsing.conftest import Read


def test_pdf_has_pages_and_hyphenated_words_are_joined(read: Read) -> None:
    parsed = read(files.pdf(["Bees are remark-\nable insects.", "", "Wasps are too."]), "a.pdf")
    assert parsed.text == "Bees are remarkable insects.\n\nWasps are too."
    assert parsed.pages == (Page(0, 1), Page(30, 3))


def test_pdf_with_an_empty_password_is_read(read: Read) -> None:
    assert read(files.pdf(["Printing is forbidden."], password=""), "a.pdf").text == "Printing is forbidden."
