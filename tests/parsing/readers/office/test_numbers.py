"""The numbers of automatic lists and headings in Word and OpenDocument texts."""

import pytest
from lxml import etree

from rag.parsing.readers.office.numbering.labels import Label, remove_bullets
from rag.parsing.readers.office.numbering.rich_text_labels import place_labels
from rag.parsing.readers.office.numbering.typed_labels import take_typed_label
from rag.parsing.readers.office.numbering.write_number import write_number
from tests.parsing.conftest import Read
from tests.parsing.files.numbering import docx_with_numbers, item, level, numbering
from tests.parsing.files.office import WORD, paragraph
from tests.parsing.files.open_document import open_document
from tests.support.checks.growth import takes_linear_time

_LETTERS = level(0, "decimal", "%1.") + level(1, "lowerLetter", "%2)") + level(2, "lowerRoman", "(%3)")
_LEGAL = level(0, "upperRoman", "Article %1") + level(1, "decimal", "%1.%2", more="<w:isLgl/>")


def _lines(read: Read, definitions: str, *paragraphs: str, styles: str = "") -> list[str]:
    text = read(docx_with_numbers(definitions, *paragraphs, styles=styles), "a.docx").text
    return [line for line in text.split("\n") if line]


def test_lists_of_word_have_their_numbers_and_stay_lists(read: Read) -> None:
    bullets = level(0, "bullet", "\uf0b7")
    content = docx_with_numbers(
        numbering(_LETTERS, bullets),
        *(paragraph("Bees:"), item("one", 1), item("sub", 1, 1), item("deep", 1, 2), item("two", 1)),
        *(paragraph("Between."), item("three", 1), paragraph("Signs:"), item("sign", 2)),
    )
    assert read(content, "a.docx").text == (
        "Bees:\n\n1. one\n   a) sub\n      (i) deep\n2. two\n\nBetween.\n\n3. three\n\nSigns:\n\n- sign"
    )


def test_labels_that_are_typed_as_well_are_written_once(read: Read) -> None:
    definitions = numbering(level(0, "decimal", "%1."), level(0, "bullet", "\uf0b7"))
    typed = "</w:t></w:r><w:r><w:tab/><w:t>".join
    items = [item(typed(("2.", "Bees")), 1), item(typed(("a.", "hum")), 1), item(typed(("•", "sign")), 2)]
    assert _lines(read, definitions, *items, item(typed(("Year", "2024")), 1)) == [
        "2. Bees",
        "a. hum",
        "- sign",
        "3. Year 2024",
    ]


def test_figures_and_letters_before_a_tab_are_no_labels_unless_they_are_counted(read: Read) -> None:
    typed = "</w:t></w:r><w:r><w:tab/><w:t>".join
    starts = [("9.30", "Opening"), ("B", "Bees"), ("12", "Members"), ("4", "Votes"), ("9.", "Fees")]
    lines = _lines(read, numbering(level(0, "decimal", "%1.")), *(item(typed(pair), 1) for pair in starts))
    assert lines == ["1. 9.30 Opening", "2. B Bees", "3. 12 Members", "4. Votes", "9. Fees"]


@pytest.mark.parametrize("unit", ["<w:t> </w:t><w:tab/>", "<w:t/><w:tab/>"])
def test_typed_labels_are_found_in_linear_time(unit: str) -> None:
    def take(text: str) -> None:
        take_typed_label(etree.fromstring(text, etree.XMLParser(huge_tree=True)), Label("1.", 0))

    def build(length: int, _: int) -> str:
        return f'<w:p xmlns:w="{WORD}"><w:r>{unit * (length // len(unit))}</w:r></w:p>'

    assert takes_linear_time(take, build, 200_000)


def test_numbered_headings_and_clauses_of_word(read: Read) -> None:
    definitions = numbering(level(0, "decimal", "§ %1", more='<w:pStyle w:val="Heading1"/>'), _LEGAL)
    style = '<w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr>'
    parsed = read(
        docx_with_numbers(
            definitions,
            *(paragraph("Purpose", heading=True), paragraph("Fees", heading=True), item("General", 2)),
            *(item("Scope", 2, 1), item("Terms", 2, 1)),
            heading=style,
        ),
        "a.docx",
    )
    assert parsed.text == "# § 1 Purpose\n\n# § 2 Fees\n\nArticle I General\n\n1.1 Scope\n\n1.2 Terms"
    assert [heading.title for heading in parsed.headings] == ["§ 1 Purpose", "§ 2 Fees"]
    assert parsed.title == "Purpose"


@pytest.mark.parametrize(
    ("numbers", "items", "lines"),
    [
        (
            '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="7"/></w:lvlOverride>',
            [(1, 0), (2, 0), (2, 0)],
            "1. 7. 8.",
        ),
        ("", [(1, 0), (2, 0)], "1. 2."),
        (f'<w:lvlOverride w:ilvl="0">{level(0, "upperLetter", "%1)")}</w:lvlOverride>', [(2, 0)], "- A)"),
    ],
    ids=["start", "same definition", "level"],
)
def test_lists_of_one_definition(read: Read, numbers: str, items: list[tuple[int, int]], lines: str) -> None:
    content = numbering(_LETTERS, numbers=f'<w:num w:numId="2"><w:abstractNumId w:val="0"/>{numbers}</w:num>')
    lines_read = _lines(read, content, *(item("x", *place) for place in items))
    assert " ".join(line.removesuffix(" x") for line in lines_read) == lines.removeprefix("- ")


def test_levels_restart_unless_they_shall_not(read: Read) -> None:
    kept = level(0, "decimal", "%1.") + level(1, "decimal", "(%2)", more='<w:lvlRestart w:val="0"/>')
    places = [(1, 0), (1, 1), (1, 0), (1, 1)]
    lines = _lines(read, numbering(kept), *(item("x", *place) for place in places))
    assert [line.split()[0] for line in lines] == ["1.", "(1)", "2.", "(2)"]
    lines = _lines(read, numbering(_LETTERS), *(item("x", *place) for place in places))
    assert [line.split()[0] for line in lines] == ["1.", "a)", "2.", "a)"]


def test_a_level_above_without_a_paragraph_has_its_first_number(read: Read) -> None:
    levels = level(0, "decimal", "%1") + level(1, "decimal", "%1.%2")
    assert _lines(read, numbering(levels), item("x", 1, 1), item("y", 1)) == ["1.1 x", "2 y"]


def test_deleted_and_hidden_paragraphs_are_not_counted_but_empty_ones_are(read: Read) -> None:
    deleted = (
        '<w:p><w:pPr><w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr><w:rPr><w:del/></w:rPr></w:pPr></w:p>'
    )
    assert _lines(read, numbering(_LETTERS), item("a", 1), deleted, item("b", 1), item("", 1), item("c", 1)) == [
        "1. a",
        "2. b",
        "4. c",
    ]


def test_a_column_of_numbers_is_read(read: Read) -> None:
    rows = "".join(f"<w:tr><w:tc>{item('', 1)}</w:tc><w:tc>{paragraph(name)}</w:tc></w:tr>" for name in ("Bee", "Wasp"))
    lines = _lines(read, numbering(_LETTERS), f"<w:tbl>{rows}</w:tbl>")
    assert [lines[0], lines[2]] == ["| 1. | Bee |", "| 2. | Wasp |"]


@pytest.mark.parametrize(
    "definitions",
    [
        "<w:numbering",
        numbering(""),
        numbering(level(0, "decimal", "%9%0%")),
        numbering(level(99999999999, "x", "%1.")),
        numbering('<w:numStyleLink w:val="S"/>'),
        numbering(_LETTERS.replace('w:start w:val="1"', 'w:start w:val="-99999999999999999999"')),
    ],
)
def test_wrong_definitions_fail_no_document(read: Read, definitions: str) -> None:
    assert "Bees hum." in read(docx_with_numbers(definitions, item("Bees hum.", 1)), "a.docx").text


def test_a_list_may_be_that_of_a_style(read: Read) -> None:
    definitions = numbering(
        '<w:numStyleLink w:val="Rules"/>',
        _LETTERS,
        numbers='<w:num w:numId="8"><w:abstractNumId w:val="1"/></w:num>',
    )
    styles = (
        '<w:style w:type="numbering" w:styleId="Rules"><w:pPr><w:numPr><w:numId w:val="8"/></w:numPr></w:pPr></w:style>'
        '<w:style w:type="paragraph" w:styleId="Rule"><w:pPr><w:numPr><w:ilvl w:val="1"/><w:numId w:val="1"/></w:numPr>'
        '</w:pPr></w:style><w:style w:type="paragraph" w:styleId="Own"><w:basedOn w:val="Rule"/></w:style>'
    )
    styled = '<w:p><w:pPr><w:pStyle w:val="Own"/></w:pPr><w:r><w:t>x</w:t></w:r></w:p>'
    assert _lines(read, definitions, styled, styled, styles=styles) == ["a) x", "b) x"]


@pytest.mark.parametrize(
    ("number", "number_format", "lang", "text"),
    [
        (1994, "upperRoman", "", "MCMXCIV"),
        (28, "lowerLetter", "", "bb"),
        (3, "decimalZero", "", "03"),
        (12, "ordinal", "en-US", "12th"),
        (22, "ordinal", "en-US", "22nd"),
        (2, "ordinal", "de-DE", "2."),
        (2, "ordinalText", "", "Second"),
        (10, "chineseCounting", "", "十"),
        (105, "chineseCountingThousand", "", "一百零五"),
        (121, "japaneseCounting", "", "百二十一"),
        (3, "ideographTraditional", "", "丙"),
        (11, "ideographTraditional", "", "11"),
        (20, "decimalEnclosedCircle", "", "⑳"),
        (21, "decimalEnclosedCircle", "", "21"),
        (4000, "upperRoman", "", "4000"),
        (0, "upperLetter", "", "0"),
        (5, "unknown", "", "5"),
    ],
)
def test_numbers_are_written_in_the_formats_of_office_programs(
    number: int, number_format: str, lang: str, text: str
) -> None:
    assert write_number(number, number_format, lang) == text


_STYLES = (
    '<text:list-style style:name="L1"><text:list-level-style-number text:level="1" style:num-suffix="." '
    'style:num-format="1"/><text:list-level-style-number text:level="2" style:num-suffix=")" style:num-format="a"/>'
    '</text:list-style><text:list-style style:name="L2"><text:list-level-style-number text:level="1" '
    'style:num-prefix="§ " style:num-format="1"/><text:list-level-style-number text:level="2" style:num-format="1" '
    'text:display-levels="2"/></text:list-style><text:list-style style:name="L3"><text:list-level-style-bullet '
    'text:level="1" text:bullet-char="•"/></text:list-style><text:outline-style><text:outline-level-style '
    'text:level="1" style:num-format="I" style:num-suffix="."/></text:outline-style>'
)


def _list(style: str, *items: str, more: str = "") -> str:
    return f'<text:list text:style-name="{style}" {more}>{"".join(items)}</text:list>'


def _item(text: str, *lists: str, more: str = "") -> str:
    return f"<text:list-item {more}><text:p>{text}</text:p>{''.join(lists)}</text:list-item>"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (
            _list("L1", _item("one", f"<text:list>{_item('sub')}{_item('sub')}</text:list>"), _item("two"))
            + _list("L1", _item("again"))
            + _list(
                "L1", _item("on"), _item("ten", more='text:start-value="10"'), more='text:continue-numbering="true"'
            ),
            "1. one\n   a) sub\n   b) sub\n2. two\n\n1. again\n\n2. on\n10. ten",
        ),
        (
            _list("L1", f"<text:list-item><text:list>{_item('sub')}{_item('sub')}</text:list></text:list-item>"),
            "a) sub\nb) sub",
        ),
        (
            _list("L2", _item("Fees", f"<text:list>{_item('In May.')}</text:list>")),
            "§ 1 Fees\n\n1.1 In May.",
        ),
        (_list("L3", _item("sign</text:p><text:p>more")), "- sign\n\nmore"),
        (
            _list("L1", "<text:list-header><text:p>Intro</text:p></text:list-header>", _item("one")),
            "Intro\n\n1. one",
        ),
        (
            _list("L1", '<text:list-item><text:h text:outline-level="2">Fees</text:h></text:list-item>')
            + '<text:h text:outline-level="1">End</text:h>'
            + '<text:h text:outline-level="1" text:is-list-header="true">Annex</text:h>',
            "## 1. Fees\n\n# I. End\n\n# Annex",
        ),
        (
            "<text:numbered-paragraph><text:number>3.</text:number><text:p>Bees</text:p></text:numbered-paragraph>",
            "3. Bees",
        ),
    ],
    ids=["nested", "only nested", "clauses", "second paragraph", "header", "headings", "numbered paragraph"],
)
def test_numbers_of_open_documents(read: Read, body: str, text: str) -> None:
    assert read(open_document("text", body, styles=_STYLES), "a.odt").text == text


@pytest.mark.parametrize("unit", ["  ", "- ", "\n\n", "  - \ue92b", "\ue92b"])
def test_bullets_are_removed_in_linear_time(unit: str) -> None:
    assert takes_linear_time(remove_bullets, lambda length, seed: f"\ue92b{seed}" + unit * (length // 4), 200_000)


_LISTED = rb"\ls1\ilvl%d "


def _paragraph(
    label: bytes, text: bytes, *, group: bytes = rb"\listtext\pard\plain\f1", place: bytes = _LISTED % 0
) -> bytes:
    return rb"\pard\plain {%s %s\tab}%s%s\par" % (group, label, place, text)


_BULLET, _OLD = rb"\'B7", rb"\pntext\f0"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (
            _paragraph(b"1.", b"one") + _paragraph(b"a)", b"sub", place=_LISTED % 1) + _paragraph(b"2.", b"two"),
            "1. one\n   a) sub\n2. two",
        ),
        (
            _paragraph(b"1.1", b"They pay.", place=_LISTED % 1) + _paragraph(rb"\'a7 2", b"In May."),
            "1.1 They pay.\n\n§ 2 In May.",
        ),
        (_paragraph(rb"\u167\'a7 3", rb"{\b Fees}") + rb"\pard They pay.\par", "# § 3 Fees\n\nThey pay."),
        (_paragraph(_BULLET, b"one") + _paragraph(b"o", b"two", place=_LISTED % 1), "- one\n  - two"),
        (
            _paragraph(b"1.", b"one", group=_OLD, place=b"") + _paragraph(b"2.", b"two", group=_OLD, place=b""),
            "1. one\n2. two",
        ),
        (
            _paragraph(_BULLET, b"one", group=_OLD, place=b"") + _paragraph(_BULLET, b"two", group=_OLD, place=b""),
            "- one\n- two",
        ),
    ],
    ids=["nested", "clauses", "heading", "bullets", "WordPad", "bullets of WordPad"],
)
def test_numbers_of_rich_text(read: Read, body: bytes, text: str) -> None:
    assert read(rb"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0 Arial;}{\f1 Symbol;}}" + body + b"}", "a.rtf").text == text


@pytest.mark.parametrize("unit", ["\ue92b", "\ue92b1\ue92d ", "- ", "1. ", "\n\n", "**\ue92b1\ue92d**"])
def test_labels_of_rich_text_are_placed_in_linear_time(unit: str) -> None:
    assert takes_linear_time(place_labels, lambda length, seed: f"\ue92b{seed}" + unit * (length // 4), 200_000)
