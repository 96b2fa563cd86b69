"""Word documents, OpenDocument texts, rich text and books."""

import pytest

from rag.errors import ParseFailed
from rag.parsing import formats
from rag.parsing.readers.office import rich_text
from rag.types import Heading, Page
from tests.parsing import files
from tests.parsing.conftest import Read
from tests.parsing.files.office import flat_docx
from tests.support.checks.growth import takes_linear_time


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


def test_books_have_the_numbers_of_their_lists_and_no_links(read: Read) -> None:
    chapters = [
        '<p>See <a href="c2.xhtml">Two</a>.<a href="#n1"><sup>1</sup></a> For:</p><ol type="a"><li>boats,</li>'
        '<li>rafts.</li></ol><p><a href="#r1">\u21a9</a> Ask <a href="https://a.example">us</a>.</p>',
        '<nav class="contents"><p><a href="#c">Contents</a></p></nav><h1><a href="#c">Ice</a></h1>'
        '<style>ol.x { list-style-type: upper-roman }</style><ol class="x"><li>Ice</li></ol>',
        "<p>No XML<p>",
    ]
    text = read(files.epub(chapters), "a.epub").text
    assert text.startswith("See Two.[1] For:\n\na. boats,\nb. rafts.\n\nAsk [us](https://a.example).")
    assert "\n\nContents\n\n# Ice\n\nI. Ice" in text
    assert text.endswith("No XML")


def test_hidden_and_moved_text_of_word_is_left_out(read: Read) -> None:
    runs = "<w:r><w:rPr><w:vanish/></w:rPr><w:t>secret</w:t></w:r><w:moveFrom><w:r><w:t>old</w:t></w:r></w:moveFrom>"
    body = files.paragraph("Bees", heading=True) + f"<w:p><w:r><w:t>They hum.</w:t></w:r>{runs}</w:p>"
    assert read(files.docx(body), "a.docx").text == "# Bees\n\nThey hum."


def test_styles_of_word_may_have_spaces_in_their_names(read: Read) -> None:
    body = files.paragraph("Bees", heading=True).replace("Heading1", "Heading 1") + files.paragraph("They hum.")
    assert read(files.docx(body), "a.docx").text == "# Bees\n\nThey hum."


def test_texts_for_the_web_and_styles_of_headings_are_read(read: Read) -> None:
    body = TEXT.replace(
        '<text:h text:outline-level="1">Hive</text:h>', '<text:p text:style-name="Heading_20_1">Hive</text:p>'
    )
    parsed = read(files.open_document("text", body, variant="-web"), "a.odt")
    assert parsed.headings == (Heading(0, 1, "Hive"),)


_RTF = rb"{\rtf1\ansi\ansicpg1251{\fonttbl{\f0 Arial;}}{\info{\title \'cf\'f7\'b8\'eb\u1099?}}\pard "


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (rb"Bees{\super\chftn{\*\footnote\chftn\pard\plain Of Trub.}} hum.\par", "hum.\n\nOf Trub."),
        (rb"Bees {\v secret}{\b\v0 hum.}\par", "Bees hum."),
        (rb"{\listtext\pard\fi-282{\s31{\*\listtag0}\tab Bees hum.}{\s31\par}}", "Bees hum."),
    ],
    ids=["note", "hidden", "item of AbiWord"],
)
def test_rich_text_has_its_notes_but_nothing_hidden(read: Read, body: bytes, text: str) -> None:
    parsed = read(_RTF + body + b"}", "a.rtf")
    assert parsed.text.endswith(text)
    assert "secret" not in parsed.text
    assert parsed.title == "Пчёлы"


_ROW = rb"\trowd\cellx900%s\pard\intbl %s\cell\row\pard"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (
            _ROW % (b"", rb"{\b One}\par Bees hum.") + _ROW % (b"", b"Two") + rb"\par Wasps.",
            "# One\n\nBees hum.\n\nTwo\n\nWasps.",
        ),
        (
            _ROW % (b"", b"All") + _ROW % (rb"\cellx1800", rb"Bees\cell 12") + rb"\par Wasps.",
            "| All |  |\n| --- | --- |\n| Bees | 12 |\n\nWasps.",
        ),
        (
            b"Bees\\\n\\pard\\ls1\\ilvl0\n\\b \\cf0 1.\tFees\\\n\\b0\\pard\\ls1\\ilvl1\\cf0 a.\tMay.\\\nb.\tJune.",
            "Bees\n\n## 1. Fees\n\na. May.\n\nb. June.",
        ),
        (rb"5\~km {\ul far} \ulnone on__e \\ul a\\~b\par", "5 km far on__e \\ul a\\~b"),
    ],
    ids=["frames", "table", "typed labels", "signs"],
)
def test_frames_and_signs_of_rich_text_are_text(read: Read, body: bytes, text: str) -> None:
    assert read(_RTF + body + b"}", "a.rtf").text.replace("\xa0", " ") == text


@pytest.mark.parametrize(
    "unit",
    [
        rb"\trowd\row",
        rb"\ls1\b ",
        rb"\ls1 ",
        rb"{\footnote ",
        rb"{\b\i",
        rb"\v",
        rb"{\title ",
        rb"{\*\listtag",
        rb"{\listtext {",
        rb"{\pntext}",
    ],
)
def test_rich_text_takes_linear_time(unit: bytes) -> None:
    def read_all(content: bytes) -> None:
        rich_text.prepare(content)
        rich_text.read_title(content)

    assert takes_linear_time(read_all, lambda length, seed: unit * (length // 8), 200_000)


def test_the_title_of_rich_text_in_unicode_is_preferred(read: Read) -> None:
    rtf = rb"{\rtf1\ansi{\info{\upr{\title ??}{\*\ud{\title \u1055?\u1095?}}}}\pard Bees hum.\par}"
    assert read(rtf, "a.rtf").title == "\u041f\u0447"


def test_raised_and_lowered_letters_have_no_marks(read: Read) -> None:
    run = '<w:r><w:rPr><w:vertAlign w:val="{}script"/></w:rPr><w:t>{}</w:t></w:r>'
    lowered, raised = run.format("sub", "2"), run.format("super", "-3")
    body = f"<w:p><w:r><w:t>H</w:t></w:r>{lowered}<w:r><w:t>O at 10</w:t></w:r>{raised}</w:p>"
    assert read(files.docx(body), "a.docx").text == "H2O at 10-3"


def test_pictures_of_word_documents_leave_no_marks(read: Read) -> None:
    """xberg writes a reference to each picture."""
    picture = (
        '<w:p><w:r><w:drawing xmlns:p="http://schemas.openxmlformats.org/drawingml/2006/picture" '
        'xmlns:d="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing" '
        'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
        'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><d:inline><d:docPr id="1" '
        'name="Picture 1"/><a:graphic><a:graphicData><p:pic><p:blipFill><a:blip r:embed="rId2"/></p:blipFill></p:pic>'
        "</a:graphicData></a:graphic></d:inline></w:drawing></w:r></w:p>"
    )
    relations = files.relations(("styles", "styles.xml"), ("image", "media/a.png"))
    members: dict[str, str | bytes] = {"word/_rels/document.xml.rels": relations, "word/media/a.png": b"\x89PNG"}
    content = files.docx(files.paragraph("Bees") + picture + files.paragraph("hum."), members=members)
    assert read(content, "a.docx").text == "Bees\n\nhum."


def test_asterisks_in_open_documents_stay(read: Read) -> None:
    body = "<text:p>Fields with *one* or <text:span>**two**</text:span> *marks* are 2 * 3.</text:p>"
    assert read(files.open_document("text", body), "a.odt").text == "Fields with *one* or **two** *marks* are 2 * 3."


def test_asterisks_in_word_documents_stay(read: Read) -> None:
    text = "Fields with *one* or **two** marks are 2 * 3 * 4 (*) wide."
    parsed = read(files.docx(files.paragraph("The *best* hive", heading=True) + files.paragraph(text)), "a.docx")
    assert parsed.text == f"# The *best* hive\n\n{text}"
    assert [heading.title for heading in parsed.headings] == ["The *best* hive"]


def test_flat_word_documents_are_read(read: Read) -> None:
    flat = flat_docx(files.docx(files.paragraph("Bees", heading=True) + files.paragraph("They hum.")))
    parsed = read(flat, "a.xml")
    assert (parsed.text, parsed.media_type) == ("# Bees\n\nThey hum.", formats.DOCX)
    with pytest.raises(ParseFailed, match="damaged"):
        read(flat[:-30], "a.xml")


def test_bold_lines_of_rich_text_may_end_with_a_colon(read: Read) -> None:
    parsed = read(_RTF + rb"Bees hum.\par{\b Fees:}\par In May.\par{\b Note:} none.\par}", "a.rtf")
    assert [heading.title for heading in parsed.headings] == ["Fees:"]


@pytest.mark.parametrize(
    ("first", "title"), [("Contents", "Rules"), ("Inhaltsverzeichnis:", "Rules"), ("Fees", "Fees")]
)
def test_a_table_of_contents_does_not_name_a_document(read: Read, first: str, title: str) -> None:
    headings = (files.paragraph(text, heading=True) for text in (first, "Rules"))
    assert read(files.docx("".join(headings) + files.paragraph("Bees.")), "a.docx").title == title
