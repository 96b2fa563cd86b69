"""Files of Office 97 to 2003, and binary workbooks: their text, headings, titles and pages are found."""

import io
import struct
import zipfile
from collections.abc import Callable, Sequence
from functools import partial

import pytest

from rag.errors import ParseFailed
from rag.parsing import formats
from rag.parsing.readers.office.legacy.word_tables import LegacyTable, split_at_tables
from rag.parsing.readers.office.legacy.word_types import CharacterRuns, CharacterType
from rag.parsing.readers.office.sheets.binary_sheets import with_columns
from tests.parsing.conftest import Read
from tests.parsing.files import older_office
from tests.parsing.files.archives import packed
from tests.support.checks.growth import takes_linear_time

PARAGRAPH = "The bridge crosses the river at its narrowest place, and has stood there for two hundred years."


@pytest.mark.parametrize(
    ("build", "name"),
    [
        (older_office.xls, "a.xls"),
        (older_office.xlsb, "a.xlsb"),
        (partial(older_office.xlsb, is_short=True), "a.xlsb"),
    ],
    ids=["xls", "xlsb", "short cells"],
)
def test_older_and_binary_workbooks_have_a_table_per_sheet(read: Read, build: Callable[..., bytes], name: str) -> None:
    parsed = read(build({"Fruit": [["Name", "Price"], ["Äpfel", 3.5], ["Birnen", 4.0]], "Roots": [["Beet"]]}), name)
    assert [heading.title for heading in parsed.headings] == ["Fruit", "Roots"]
    assert "| Name | Price |\n| --- | --- |\n| Äpfel | 3.5 |\n| Birnen | 4 |" in parsed.text
    assert parsed.text.endswith("# Roots\n\n| Beet |\n| --- |")


def test_older_word_documents_keep_their_paragraphs(read: Read) -> None:
    """xberg made one paragraph of all of them, lists included."""
    content = older_office.doc(["Zwölf Bögen * _halten_.", PARAGRAPH, "• one", "• two"], title="Brücken")
    parsed = read(content, "a.doc")
    assert parsed.text == f"Zwölf Bögen * _halten_.\n\n{PARAGRAPH}\n\n• one\n\n• two"
    assert parsed.title == "Brücken"


def test_short_lines_of_older_word_documents_are_headings(read: Read) -> None:
    titles = ["How it began", "How it was built", "How it ended"]
    parsed = read(older_office.doc([line for title in titles for line in (title, PARAGRAPH)]), "a.doc")
    assert [heading.title for heading in parsed.headings] == titles
    assert [parsed.text[heading.start :].startswith(heading.title) for heading in parsed.headings] == [True] * 3


def test_lines_in_capitals_of_older_word_documents_are_headings(read: Read) -> None:
    parsed = read(older_office.doc(["Minutes of May.", "THE BRIDGE", PARAGRAPH]), "a.doc")
    (heading,) = parsed.headings
    assert (heading.title, parsed.text[heading.start :]) == ("THE BRIDGE", f"THE BRIDGE\n\n{PARAGRAPH}")


def test_styles_of_older_word_documents_make_headings(read: Read) -> None:
    lines = ["Herons and storks live here.", "Herons", PARAGRAPH, "Food", "20 %", "No heading", PARAGRAPH]
    parsed = read(older_office.doc(lines, styles=[0, 1, 0, 10, 2]), "a.doc")
    assert [(heading.level, heading.title) for heading in parsed.headings] == [(1, "Herons"), (2, "Food")]
    assert parsed.text[parsed.headings[1].start :].startswith("Food\n\n20 %")


def test_bold_underlined_and_large_lines_of_older_word_documents_are_headings(read: Read) -> None:
    bold, underlined, large = b"\x35\x08\x01", b"\x3e\x2a\x01", b"\x43\x4a\x28\x00"
    lines = ["Herons", PARAGRAPH, "Food:", PARAGRAPH, "Nests of the bird", PARAGRAPH, "It eats.", PARAGRAPH]
    content = older_office.doc(lines, types={0: large, 2: bold, 4: underlined, 6: bold})
    parsed = read(content, "a.doc")
    assert [(one.level, one.title) for one in parsed.headings] == [
        (1, "Herons"),
        (3, "Food:"),
        (3, "Nests of the bird"),
    ]
    assert parsed.title == "Herons"


def test_lists_of_older_word_documents_have_their_numbers(read: Read) -> None:
    lines = ["Fees", "They pay.", "In May.", "By card.", "Once.", "Votes", "Five."]
    content = older_office.doc(
        lines,
        styles=[1, 0, 0, 0, 0, 1],
        items={0: (1, 0), 1: (1, 1), 2: (1, 1), 3: (1, 2), 4: (1, 1), 5: (1, 0), 6: (2, 1)},
        levels=[(0, "§ \0"), (4, "\1)"), (2, "\0.\2")],
        starts={1: 5},
    )
    parsed = read(content, "a.doc")
    numbered = ["§ 1 Fees", "a) They pay.", "b) In May.", "1.i By card.", "c) Once.", "§ 2 Votes", "e) Five."]
    assert parsed.text == "\n\n".join(numbered)
    assert [heading.title for heading in parsed.headings] == ["§ 1 Fees", "§ 2 Votes"]


@pytest.mark.parametrize(("offset", "value"), [(0x9A + 8, 2**31), (0x9A + 8 * 13 + 4, 12_000), (0x9A + 8 * 74, 2**30)])
def test_older_word_documents_with_damaged_styles_keep_their_text(read: Read, offset: int, value: int) -> None:
    content = bytearray(older_office.doc([PARAGRAPH, "Bees"], items={1: (1, 0)}, levels=[(0, "\0.")]))
    start = content.index(struct.pack("<HH", 0xA5EC, 0x00C1))
    struct.pack_into("<I", content, start + offset, value)
    assert read(bytes(content), "a.doc").text == f"{PARAGRAPH}\n\nBees"


def _run(text: str) -> str:
    return f"<w:r><w:t>{text}</w:t></w:r>"


def _annotation(kind: str, content: str) -> str:
    return f'<aml:annotation w:type="Word.{kind}"><aml:content>{content}</aml:content></aml:annotation>'


def _word_2003(paragraphs: str) -> bytes:
    """A document of Word 2003 in XML with a title, a style for headings, and a list."""
    microsoft = "http://schemas.microsoft.com"
    names = (
        f'xmlns:w="{microsoft}/office/word/2003/wordml" xmlns:wx="{microsoft}/office/word/2003/auxHint" '
        f'xmlns:aml="{microsoft}/aml/2001/core" xmlns:o="urn:schemas-microsoft-com:office:office" xmlns:s="urn:example"'
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<?mso-application progid="Word.Document"?>\n'
        f"<w:wordDocument {names}><o:DocumentProperties><o:Title>Bees</o:Title></o:DocumentProperties><w:lists>"
        '<w:listDef w:listDefId="4"><w:lvl w:ilvl="0"><w:start w:val="1"/><w:nfc w:val="4"/><w:lvlText w:val="%1)"/>'
        '</w:lvl></w:listDef><w:list w:ilfo="2"><w:ilst w:val="4"/></w:list></w:lists><w:styles><w:style '
        'w:type="paragraph" w:styleId="Heading1"><w:name w:val="heading 1"/></w:style></w:styles>'
        f"<w:body><wx:sect>{paragraphs}</wx:sect></w:body></w:wordDocument>"
    ).encode()


@pytest.mark.parametrize("name", ["a.xml", "a.doc"])
def test_documents_of_word_2003_in_xml_are_read(read: Read, name: str) -> None:
    parts = [
        _run("They "),
        _annotation("Deletion", "<w:r><w:delText>sleep</w:delText></w:r>"),
        _annotation("Insertion", _run("hum")),
        f"<s:name>{_run(', said Ada')}</s:name>",
        f"<w:r><w:footnote><w:p>{_run('In May.')}</w:p></w:footnote></w:r>",
        f'<w:hlink w:dest="x">{_run(".")}</w:hlink>',
        _annotation("Comment", f"<w:p>{_run('Sure?')}</w:p>"),
    ]
    heading = f'<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr>{_run("The hive")}</w:p>'
    number = '<w:pPr><w:listPr><w:ilvl w:val="0"/><w:ilfo w:val="2"/><wx:t wx:val="a)"/></w:listPr></w:pPr>'
    items = "".join(f"<w:p>{number}{_run(text)}</w:p>" for text in ("one", "two"))
    content = _word_2003(f"{heading}<w:p>{''.join(parts)}</w:p>{items}")
    parsed = read(content, name)
    assert parsed.text == "# The hive\n\nThey hum, said Ada[^1].\n\na) one\nb) two\n\n[^1]: In May."
    assert (parsed.title, parsed.media_type) == ("Bees", formats.DOCX)
    with pytest.raises(ParseFailed, match="damaged"):
        read(content[:-30], name)


def test_older_presentations_have_a_heading_and_a_page_per_slide(read: Read) -> None:
    parsed = read(
        older_office.ppt([("Brücken", "They hold."), ("Towers", "They stand.")], title="Über Brücken"), "a.ppt"
    )
    assert parsed.title == "Über Brücken"
    assert [heading.title for heading in parsed.headings] == ["Brücken", "Towers"]
    assert [page.number for page in parsed.pages] == [1, 2]
    assert parsed.text[parsed.pages[1].start :].endswith("Towers\n\nThey stand.")


def test_older_workbooks_have_a_title(read: Read) -> None:
    assert read(older_office.xls({"A": [["x"]]}, title="Größen"), "a.xls").title == "Größen"


@pytest.mark.parametrize(
    ("title", "code_page", "expected"),
    [
        (b"Bilanz \x9d 2003", 1252, "Bilanz \ufffd 2003"),
        ("Größen".encode("mac_roman"), 10000, "Größen"),
        ("счет".encode("cp1251"), 1251, "счет"),
        ("資料".encode("cp932"), 932, "資料"),
        ("Größen".encode(), 65001, "Größen"),
        ("Größen".encode("cp1252"), 4711, "Größen"),
        (b"\x81\x8d\x90", 4711, "\ufffd" * 3),
        ("Größen 資料".encode("utf-16-le"), 1200, "Größen 資料"),
    ],
)
def test_titles_have_the_declared_code_page(read: Read, title: bytes, code_page: int, expected: str) -> None:
    """A title that does not fit it must not refuse the document."""
    parsed = read(older_office.xls({"A": [["x"]]}, title=title, code_page=code_page), "a.xls")
    assert parsed.title == expected
    assert "| x |" in parsed.text


def test_titles_may_be_stored_as_characters(read: Read) -> None:
    title = "Größen 資料".encode("utf-16-le")
    assert read(older_office.xls({"A": [["x"]]}, title=title, title_in_characters=True), "a.xls").title == "Größen 資料"


def test_rows_of_a_table_are_lines(read: Read) -> None:
    """A row ends as a cell does, so two tabs end it."""
    parsed = read(older_office.doc(["Town\tPeople\t\tBergen\t285,911\t\tThe end."]), "a.doc")
    assert parsed.text == "Town\tPeople\n\nBergen\t285,911\n\nThe end."


def _table(rows: Sequence[Sequence[str]], *, before: int = 0) -> tuple[list[str], dict[int, bool]]:
    """The cells of a table as paragraphs, with a mark behind each row, and which of them is a mark."""
    paragraphs = [(cell, cell == "") for row in rows for cell in [*row, ""]]
    return [cell for cell, _ in paragraphs], {
        before + number: is_mark for number, (_, is_mark) in enumerate(paragraphs)
    }


@pytest.mark.parametrize("split", [0, 9, 40])
def test_tables_of_older_word_documents_are_tables(read: Read, split: int) -> None:
    cells, marks = _table([["Town", "People"], ["Bergen", "285 911 | counted"], ["Oslo", "709 037"]], before=1)
    parsed = read(older_office.doc(["Two.", *cells, "The end."], cells=marks, split=split), "a.doc")
    assert parsed.text == (
        "Two.\n\n| Town | People |\n| --- | --- |\n| Bergen | 285 911 \\| counted |\n| Oslo | 709 037 |\n\nThe end."
    )


@pytest.mark.parametrize("rows", [[["One column"], ["of text"]], [["One", "row"]], [["Long", "x " * 600], ["a", "b"]]])
def test_tables_of_layout_in_older_word_documents_stay_text(read: Read, rows: list[list[str]]) -> None:
    cells, marks = _table(rows, before=1)
    assert "|" not in read(older_office.doc(["Text.", *cells, "The end."], cells=marks), "a.doc").text


def test_numbers_behind_a_table_of_an_older_word_document_stay(read: Read) -> None:
    cells, marks = _table([[f"row {number}", "yes"] for number in range(1, 4)], before=0)
    number = len(cells)
    content = older_office.doc([*cells, "Bees hum."], cells=marks, items={number: (1, 0)}, levels=[(0, "\0.")])
    assert read(content, "a.doc").text.endswith("| row 3 | yes |\n\n1. Bees hum.")


@pytest.mark.parametrize("text", ["a b c d x ", "bees hum "])
def test_tables_of_older_word_documents_are_found_in_linear_time(text: str) -> None:
    def split(text: str) -> None:
        tables = [LegacyTable((("a", "b"), ("c", "d")), 0)] * (len(text) // 10)
        assert "".join(part for part in split_at_tables(text, tables) if isinstance(part, str))

    assert takes_linear_time(split, lambda length, _: text * (length // len(text)), 400_000)


def test_tables_in_capitals_are_no_headings(read: Read) -> None:
    cells, marks = _table([["TOTAL", "100"], ["VAT", "19"]])
    assert read(older_office.doc([*cells, "The end."], cells=marks), "a.doc").headings == ()


def test_rows_of_a_table_are_no_headings(read: Read) -> None:
    rows = [f"{number}.\tPinot {number}\tearly" for number in range(1, 5)]
    parsed = read(older_office.doc([line for row in rows for line in (row, PARAGRAPH)]), "a.doc")
    assert parsed.headings == ()


@pytest.mark.parametrize("cut", [1, 3, 20])
def test_binary_sheets_that_are_cut_off_are_read_as_far_as_possible(read: Read, cut: int) -> None:
    content = older_office.xlsb({"Fruit": [["Name", "Price"], ["Äpfel", 3.5]]}, is_short=True)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    sheet = "xl/worksheets/sheet1.bin"
    with zipfile.ZipFile(io.BytesIO(with_columns(packed(members | {sheet: members[sheet][:-cut]})))) as archive:
        assert "Price".encode("utf-16-le") in archive.read(sheet)


def test_columns_are_written_in_linear_time() -> None:
    def build(length: int, seed: int) -> bytes:
        rows: list[list[str | float]] = [["Name", "Price", float(seed)]] * (length // 3)
        return older_office.xlsb({"Fruit": rows}, is_short=True)

    assert takes_linear_time(with_columns, build, 60_000)


def test_overlapping_runs_of_letters_are_read_in_linear_time() -> None:
    def build(length: int, seed: int) -> bytes:
        pages = [struct.pack("<II", 2 * number, length).ljust(511, b"\0") + b"\1" for number in range(1, length // 512)]
        return b"".join(pages).ljust(length + 2 * (seed + 1), b" ")

    def read_type(main: bytes) -> CharacterType:
        count = len(main) // 512 - 1
        table = struct.pack(f"<{2 * count + 1}I", *range(count + 1), *range(count))
        blank = b" " * len(main)
        runs = CharacterRuns(main + blank, table, (0, len(table)))
        return runs.type_of(0, len(main), 1, CharacterType())

    assert takes_linear_time(read_type, build, 200_000)
