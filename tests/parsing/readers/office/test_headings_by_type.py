"""Headings of text documents without a style of headings."""

import pytest
from lxml import etree

from rag.parsing.readers.office.headings import word_headings
from tests.parsing.conftest import Read
from tests.parsing.files.numbering import docx_with_numbers, level, numbering
from tests.parsing.files.office import WORD, docx, paragraph
from tests.parsing.files.open_document import open_document
from tests.support.checks.growth import takes_linear_time

_BOLD = "<w:b/>"
_TEXT = "Members pay their fee in January, and the office sends a receipt before the end of the month."


def _titles(read: Read, *paragraphs: str) -> list[tuple[int, str]]:
    parsed = read(docx("".join(paragraphs)), "a.docx")
    return [(heading.level, heading.title) for heading in parsed.headings]


def test_bold_underlined_and_large_lines_of_word_are_headings(read: Read) -> None:
    titles = _titles(
        read,
        paragraph("Rules of the club", font='<w:sz w:val="40"/>'),
        paragraph(_TEXT),
        paragraph("Fees", font=_BOLD),
        paragraph(_TEXT),
        paragraph("Next steps:", font='<w:u w:val="single"/>'),
        paragraph(_TEXT),
    )
    assert titles == [(1, "Rules of the club"), (3, "Fees"), (3, "Next steps:")]


@pytest.mark.parametrize(
    "line",
    [
        paragraph("Please pay in time.", font=_BOLD),
        paragraph("Start: 19:00", font=_BOLD),
        paragraph("Name ____________", font=_BOLD),
        paragraph("Fees", font='<w:b w:val="0"/>'),
        paragraph("Fees", font='<w:u w:color="0000FF"/>'),
        f"<w:tbl><w:tr><w:tc>{paragraph('Fees', font=_BOLD)}</w:tc></w:tr></w:tbl>",
        f"<w:p><w:pPr><w:numPr/></w:pPr><w:r><w:rPr>{_BOLD}</w:rPr><w:t>Fees</w:t></w:r></w:p>",
    ],
)
def test_other_bold_lines_are_no_headings(read: Read, line: str) -> None:
    assert _titles(read, paragraph(_TEXT), line, paragraph(_TEXT)) == []


def _item(text: str, font: str = "") -> str:
    properties = '<w:pPr><w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr></w:pPr>'
    return f"<w:p>{properties}<w:r><w:rPr>{font}</w:rPr><w:t>{text}</w:t></w:r></w:p>"


def test_bold_numbered_lines_above_text_are_headings_but_items_in_a_row_are_none(read: Read) -> None:
    definitions = numbering(level(0, "decimal", "%1."))
    sections = [_item("Fees", _BOLD), paragraph(_TEXT), _item("Members", _BOLD), paragraph(_TEXT)]
    parsed = read(docx_with_numbers(definitions, *sections), "a.docx")
    assert [heading.title for heading in parsed.headings] == ["1. Fees", "2. Members"]
    for first, last in ((_BOLD, ""), ("", _BOLD), (_BOLD, _BOLD)):
        items = _item("Fees", first), _item("Members", last)
        assert read(docx_with_numbers(definitions, *items, paragraph(_TEXT)), "a.docx").headings == ()


def test_numbers_above_titles_are_part_of_the_title(read: Read) -> None:
    parsed = read(docx(paragraph("§ 3.") + paragraph("Fees", font=_BOLD) + paragraph(_TEXT)), "a.docx")
    assert [heading.title for heading in parsed.headings] == ["§ 3. Fees"]
    assert "§ 3." not in read(docx(paragraph("§ 3.") + paragraph(_TEXT)), "a.docx").title


def _in_style(text: str, properties: str) -> str:
    return f"<w:p><w:pPr>{properties}</w:pPr><w:r><w:rPr>{_BOLD}</w:rPr><w:t>{text}</w:t></w:r></w:p>"


def test_titles_in_the_middle_may_have_a_subtitle_but_fields_are_none(read: Read) -> None:
    centered = '<w:jc w:val="center"/>'
    titles = ["Report: How we fed the bees", "Start: 19:00", "Place: The hall", "Room: 308 in the old house"]
    chosen = _titles(read, *(_in_style(title, centered) + paragraph(_TEXT) for title in titles))
    assert [title for _, title in chosen] == titles[:1]


@pytest.mark.parametrize("part", ["第{}章 会员", "Chapter {} Members", "Глава {}. Члены"])
def test_a_part_whose_style_was_forgotten_is_a_heading(read: Read, part: str) -> None:
    style = '<w:pStyle w:val="Heading1"/>'
    parts = [part.format(number) for number in "1234"]
    titles = _titles(
        read,
        paragraph(parts[0]),
        paragraph(_TEXT),
        *(_in_style(title, style) + paragraph(_TEXT) for title in parts[1:]),
        paragraph(f"{part.format(2)} says more about members."),
    )
    assert titles == [(1, title) for title in parts]


def test_bold_paragraphs_stay_paragraphs(read: Read) -> None:
    lines = ["Minutes of the meeting", "Date: 27 February", "Place: room 308", "Chair: Anita"]
    parsed = read(docx("".join([*(paragraph(line, font=_BOLD) for line in lines), paragraph(_TEXT)])), "a.docx")
    assert parsed.text.split("\n\n") == [f"# {lines[0]}" if line == lines[0] else line for line in [*lines, _TEXT]]


def test_a_numbered_line_below_a_title_of_two_lines_is_a_heading(read: Read) -> None:
    lines = ["Course 35", "Software laboratory", "1. General information"]
    titles = _titles(read, *(paragraph(line, font=_BOLD) for line in lines), paragraph(_TEXT))
    assert [title for _, title in titles] == ["Course 35", "1. General information"]


def test_a_document_that_is_mostly_bold_has_no_headings_for_it(read: Read) -> None:
    assert _titles(read, paragraph(_TEXT, font=_BOLD), paragraph("Fees", font=_BOLD), paragraph("In May.")) == []


def test_styles_of_word_are_bold_for_the_paragraphs_that_have_them(read: Read) -> None:
    styles = (
        '<w:styles xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">'
        '<w:style w:type="paragraph" w:styleId="Base"><w:rPr><w:b/></w:rPr></w:style>'
        '<w:style w:type="paragraph" w:styleId="Own"><w:basedOn w:val="Base"/></w:style></w:styles>'
    )
    styled = '<w:p><w:pPr><w:pStyle w:val="Own"/></w:pPr><w:r><w:t>Fees</w:t></w:r></w:p>'
    body = paragraph(_TEXT) + styled + paragraph(_TEXT)
    parsed = read(docx(body, members={"word/styles.xml": styles}), "a.docx")
    assert [heading.title for heading in parsed.headings] == ["Fees"]


def test_lines_and_marks_of_word_leave_no_signs(read: Read) -> None:
    runs = (
        paragraph("Consent", font='<w:b/><w:u w:val="single"/>')
        + paragraph("Station", font='<w:highlight w:val="yellow"/>')
        + paragraph(_TEXT)
    )
    assert read(docx(paragraph(_TEXT) + runs), "a.docx").text == f"{_TEXT}\n\n### Consent\n\nStation\n\n{_TEXT}"


@pytest.mark.parametrize(
    ("font", "level"),
    [('fo:font-weight="bold"', 3), ('style:text-underline-style="solid"', 3), ('fo:font-size="15pt"', 1)],
)
def test_lines_of_open_documents_are_headings_by_their_type(read: Read, font: str, level: int) -> None:
    styles = (
        '<style:style style:name="P1" style:family="paragraph"><style:text-properties fo:font-size="10pt"/>'
        "</style:style>"
        '<style:style style:name="P2" style:family="paragraph" style:parent-style-name="P1"/>'
        f'<style:style style:name="T1" style:family="text"><style:text-properties {font}/></style:style>'
    )
    text = f'<text:p text:style-name="P1">{_TEXT}</text:p>'
    line = '<text:p text:style-name="P2"><text:span text:style-name="T1">Fees</text:span></text:p>'
    parsed = read(open_document("text", text + line + text, styles=styles), "a.odt")
    assert [(heading.level, heading.title) for heading in parsed.headings] == [(level, "Fees")]


def test_a_document_without_a_title_is_named_after_the_heading_above_it(read: Read) -> None:
    content = docx(paragraph("Club of Trub") + paragraph("Rules:", heading=True) + paragraph(_TEXT))
    assert read(content, "a.docx").title == "Rules"


@pytest.mark.parametrize(("declared", "title"), [("Template of 2011", "Rules"), ("Fees of members", "Fees of members")])
def test_a_title_without_a_word_of_the_text_is_that_of_another_document(read: Read, declared: str, title: str) -> None:
    body = '<text:h text:outline-level="1">Rules</text:h>' + f"<text:p>{_TEXT}</text:p>" * 20
    assert read(open_document("text", body, title=declared), "a.odt").title == title


def test_titles_of_several_types_on_each_other_are_headings(read: Read) -> None:
    large = f'{_BOLD}<w:sz w:val="40"/>'
    lines = [("Summer", large), ("Boats:", f'{_BOLD}<w:sz w:val="30"/>'), ("Swan", _BOLD)]
    titles = _titles(read, *(paragraph(text, font=font) for text, font in lines), paragraph(_TEXT))
    assert [title for _, title in titles] == ["Summer", "Boats:", "Swan"]


def test_boxes_with_a_text_have_headings_and_labels_are_none(read: Read) -> None:
    def box(*paragraphs: str) -> str:
        return f"<w:p><w:r><w:pict><w:txbxContent>{''.join(paragraphs)}</w:txbxContent></w:pict></w:r></w:p>"

    monday = box(paragraph("Monday", font=_BOLD), paragraph(_TEXT), paragraph(_TEXT))
    titles = _titles(read, paragraph(_TEXT), monday, box(paragraph("Fig. A", font=_BOLD)), paragraph(_TEXT))
    assert [title for _, title in titles] == ["Monday"]


def test_the_paragraphs_of_a_text_box_are_read_in_linear_time() -> None:
    def box(length: int, number: int) -> str:
        names = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
        inner = f"<w:p><w:r><w:t>Bees {number}</w:t></w:r></w:p>" * (length // 50)
        return f"<w:document {names}><w:p><w:txbxContent>{inner}</w:txbxContent></w:p></w:document>"

    assert takes_linear_time(lambda text: word_headings.mark_headings(etree.fromstring(text), None, {}), box, 60_000)


@pytest.mark.parametrize(
    ("lines", "headings"),
    [
        (["§ 1 Name", "§ 2 Fees", "§ 3 End"], ["§ 1 Name", "§ 2 Fees", "§ 3 End"]),
        (
            ["Article I: Name", "Article II: Fees", "Article III"],
            ["Article I: Name", "Article II: Fees", "Article III"],
        ),
        (["§ 1", "§ 2", "§ 3"], ["§ 1", "§ 2", "§ 3"]),
        (["§ 1 Name", "§ 2 Fees"], []),
        (["§ 1 Name 3", "§ 2 Fees 4", "§ 3 End 7"], []),
        (["§ 1 Members pay.", "§ 2 Fees are due.", "§ 3 All may vote."], []),
    ],
)
def test_parts_of_statutes_above_text_are_headings(read: Read, lines: list[str], headings: list[str]) -> None:
    paragraphs = [part for line in lines for part in (paragraph(line), paragraph(_TEXT))]
    assert [title for _, title in _titles(read, paragraph(_TEXT), *paragraphs)] == headings


def test_parts_in_a_row_are_a_table_of_contents(read: Read) -> None:
    assert _titles(read, *(paragraph(f"§ {number} Fees") for number in range(1, 6)), paragraph(_TEXT)) == []


def _centered(text: str) -> str:
    return f'<w:p><w:pPr><w:jc w:val="center"/></w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>'


def test_a_first_line_in_the_middle_is_the_title(read: Read) -> None:
    assert _titles(read, _centered("Agenda"), _centered("14 July"), paragraph(_TEXT)) == [(1, "Agenda")]
    assert _titles(read, _centered("Agenda"), _centered(_TEXT)) == []
    styles = (
        '<style:style style:name="P1" style:family="paragraph"><style:paragraph-properties fo:text-align="center"/>'
        "</style:style>"
    )
    body = f'<text:p text:style-name="P1">Agenda</text:p><text:p>{_TEXT}</text:p>'
    parsed = read(open_document("text", body, styles=styles), "a.odt")
    assert [heading.title for heading in parsed.headings] == ["Agenda"]


def _run(text: str, *, bold: bool = False, end: str = "") -> str:
    return f"<w:r><w:rPr>{_BOLD if bold else ''}</w:rPr><w:t>{text}</w:t>{end}</w:r>"


@pytest.mark.parametrize(
    ("runs", "titles"),
    [
        (_run("Fees", bold=True, end="<w:br/>") + _run(_TEXT), ["Fees"]),
        (_run("Fees", bold=True) + f"<w:r><w:br/><w:t>{_TEXT}</w:t></w:r>", ["Fees"]),
        (_run("Fees:", bold=True, end="<w:br/>") + _run(_TEXT), []),
        (_run("Fees", end="<w:br/>") + _run(_TEXT), []),
        (_run("Fees", bold=True, end='<w:br w:type="page"/>') + _run(_TEXT), []),
    ],
)
def test_a_bold_first_line_of_word_is_a_heading(read: Read, runs: str, titles: list[str]) -> None:
    assert [title for _, title in _titles(read, paragraph(_TEXT), f"<w:p>{runs}</w:p>")] == titles


def test_the_outline_level_of_text_is_none_of_headings(read: Read) -> None:
    styles = (
        f'<w:styles xmlns:w="{WORD}"><w:style w:type="paragraph" w:styleId="Default"><w:name w:val="Default"/><w:pPr>'
        '<w:outlineLvl w:val="9"/></w:pPr></w:style></w:styles>'
    )
    body = f'<w:p><w:pPr><w:pStyle w:val="Default"/></w:pPr><w:r><w:t>{_TEXT}</w:t></w:r></w:p>'
    parsed = read(docx(body, members={"word/styles.xml": styles}), "a.docx")
    assert (parsed.text, parsed.headings) == (_TEXT, ())
