"""Word documents, OpenDocument texts, rich text and books."""

import pytest

from rag.parsing import formats
from rag.types import Heading, Page
from tests.parsing import files
from tests.parsing.conftest import Read


def test_word_documents_have_headings_and_pages(read: Read) -> None:
    first = files.paragraph("Bees", heading=True) + files.paragraph("They ", "remem", "ber.")
    parsed = read(files.docx(first + files.paragraph("Wasps", heading=True, page=True)), "a.docx")
    assert parsed.text == "# Bees\n\nThey remember.\n\n# Wasps"
    assert parsed.headings == (Heading(0, 1, "Bees"), Heading(24, 1, "Wasps"))
    assert parsed.pages == (Page(0, 1), Page(24, 2))
    assert parsed.is_markdown
    assert parsed.media_type == formats.DOCX


TEXT = (
    '<text:h text:outline-level="1">Hive</text:h><text:p>They <text:span>re</text:span>member.</text:p><table:table>'
    "<table:table-row><table:table-cell><text:p>Year</text:p></table:table-cell><table:table-cell><text:p>kg</text:p>"
    "</table:table-cell></table:table-row><table:table-row><table:table-cell><text:p>2020</text:p></table:table-cell>"
    "<table:table-cell><text:p>31</text:p></table:table-cell></table:table-row></table:table>"
)


ODT = files.open_document("text", TEXT, title="Bees")


@pytest.mark.parametrize(
    "content",
    [
        ODT,
        files.open_document("text", TEXT, title="Bees", template=True),
        files.flat_open_document("text", TEXT, title="Bees"),
    ],
    ids=["container", "template", "flat"],
)
@pytest.mark.parametrize("name", ["a.odt", "a.bin"])
def test_open_document_texts_have_headings_tables_and_a_title(read: Read, content: bytes, name: str) -> None:
    parsed = read(content, name)
    assert parsed.text == "# Hive\n\nThey remember.\n\n| Year | kg |\n| --- | --- |\n| 2020 | 31 |"
    assert (parsed.title, parsed.media_type) == ("Bees", formats.ODT)
    assert parsed.headings == (Heading(0, 1, "Hive"),)


def test_rich_text_has_headings_and_characters_of_its_code_page(read: Read) -> None:
    rtf = (
        rb"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0 Arial;}}{\info{\title Bees}}\pard{\b The hive}\par\pard "
        rb"Honey costs 5 \'80 in K\'f6ln, \u8211? often more.\par\pard Third line.\par}"
    )
    parsed = read(rtf, "a.doc")
    assert parsed.text == "# The hive\n\nHoney costs 5 € in Köln, – often more.\n\nThird line."
    assert (parsed.title, parsed.media_type) == ("Bees", formats.RTF)
    assert [heading.title for heading in parsed.headings] == ["The hive"]


def test_chapters_of_a_book_are_headings(read: Read) -> None:
    parsed = read(files.epub(["<h1>One</h1><p>It was <em>dark</em>.</p>", "<h1>Two</h1><p>Light.</p>"]), "a.epub")
    assert parsed.text == "# One\n\nIt was dark.\n\n# Two\n\nLight."
    assert parsed.title == "The small book"


def test_fiction_books_have_chapters(read: Read) -> None:
    book = (
        '<?xml version="1.0" encoding="windows-1251"?><FictionBook xmlns="http://www.gribuser.ru/xml/fictionbook/2.0">'
        "<description><title-info><book-title>Пчёлы</book-title></title-info></description><body><section><title>"
        "<p>Глава</p></title><p>Они жужжат.</p></section></body></FictionBook>"
    )
    parsed = read(book.encode("cp1251"), "a.fb2")
    assert parsed.title == "Пчёлы"
    assert "Глава" in [heading.title for heading in parsed.headings]
    assert "Они жужжат." in parsed.text
