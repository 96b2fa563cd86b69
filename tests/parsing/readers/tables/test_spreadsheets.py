"""Workbooks of Excel and OpenDocument."""

import io
import struct
import zipfile
from collections.abc import Callable

import pytest

from rag.errors import ParseFailed
from rag.parsing.detection import detect_text_type
from tests.parsing import files
from tests.parsing.conftest import Read
from tests.parsing.files import older_office
from tests.support.checks.growth import takes_linear_time


def test_a_workbook_has_a_heading_and_table_per_sheet(read: Read) -> None:
    parsed = read(files.xlsx({"Fruit": [["Name", "Price"], ["Apple", "3"]], "Roots": [["Beet", "2"]]}), "a.xlsx")
    assert [heading.title for heading in parsed.headings] == ["Fruit", "Roots"]
    assert "| Name | Price |\n| --- | --- |\n| Apple | 3 |" in parsed.text
    assert parsed.pages == ()


@pytest.mark.parametrize("state", ["hidden", "veryHidden"])
def test_hidden_sheets_are_left_out(read: Read, state: str) -> None:
    sheets = {name: [["Name", "Price"], [name, "3"]] for name in ("Fruit", "Salaries", "Roots")}
    content = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(files.xlsx(sheets))) as archive, zipfile.ZipFile(content, "w") as changed:
        for name in archive.namelist():
            part = archive.read(name).decode().replace('"Salaries" sheetId', f'"Salaries" state="{state}" sheetId')
            changed.writestr(name, part)
    parsed = read(content.getvalue(), "a.xlsx")
    assert [heading.title for heading in parsed.headings] == ["Fruit", "Roots"]
    assert "Salaries" not in parsed.text


@pytest.mark.parametrize("above", [[["Tours 2025"]], [["Tours 2025"], [""], ["As of", "1 May"]]])
def test_rows_above_the_header_are_no_header(read: Read, above: list[list[str]]) -> None:
    table = [["Place", "Part", "Waste", "Paper", "Car"], ["Lake", "all", "Monday", "Friday", "W 3"]]
    more = ["Hill", "north", "Tuesday", "Friday", "W 5"]
    parsed = read(files.xlsx({"S": [[*row, *[""] * (5 - len(row))] for row in above] + [*table, more]}), "a.xlsx")
    assert "Tours 2025\n\n" in parsed.text
    assert "| Place | Part | Waste | Paper | Car |\n| --- | --- | --- | --- | --- |\n| Lake | all |" in parsed.text


@pytest.mark.parametrize(
    "rows",
    [
        [["Pump", ""], ["Length", "5 m"], ["Weight", "68 kg"], ["Power", "2 kW"]],
        [["Tours", "", ""], ["Lake", "all", "5"], ["Hill", "all", "7"], ["Bay", "all", "9"]],
        [["Place", "Part", "Waste"], ["Lake", "", ""], ["Hill", "north", "Monday"], ["Bay", "south", "Friday"]],
        [["Tours", "", ""], ["Lake", "all", "€5"], ["Hill", "north", "€12.50"]],
        [["Tours", "", ""], ["Lake", "all", "May"], ["Hill", "all", "July"]],
    ],
)
def test_a_first_row_without_names_below_it_stays(read: Read, rows: list[list[str]]) -> None:
    parsed = read(files.xlsx({"S": rows}), "a.xlsx")
    assert parsed.text.startswith(f"## S\n\n| {rows[0][0]} |")


def test_signs_in_cells_have_no_marks(read: Read) -> None:
    rows = [["Path", "Note"], ["C:\\temp", "Do not sort! No. #1, a -> b, ~5, `x`"], ["a|b", "\\\\server\\share"]]
    text = read(files.xlsx({"S": [[cell.replace(">", "&gt;") for cell in row] for row in rows]}), "a.xlsx").text
    assert text.split("\n")[4:] == [
        "| C:\\temp | Do not sort! No. #1, a -> b, ~5, `x` |",
        "| a\\|b | \\\\server\\share |",
    ]


def test_large_sheets_are_complete(read: Read) -> None:
    rows = [[f"row {number}", "x", "y", "z"] for number in range(30_000)]
    assert "row 29999" in read(files.xlsx({"S": [["A", "B", "C", "D"], *rows]}), "a.xlsx").text


_ROW = (
    '<table:table-row><table:table-cell office:value-type="string"><text:p>{}</text:p></table:table-cell>'
    "</table:table-row>"
)


SHEETS = "".join(
    f'<table:table table:name="{name}">{"".join(_ROW.format(value) for value in values)}</table:table>'
    for name, values in {"Fruit": ["Name", "Apple"], "Roots": ["Beet"]}.items()
)


@pytest.mark.parametrize("build", [files.open_document, files.flat_open_document])
def test_open_document_sheets_are_tables(read: Read, build: Callable[..., bytes]) -> None:
    parsed = read(build("spreadsheet", SHEETS), "a.ods")
    assert [heading.title for heading in parsed.headings] == ["Fruit", "Roots"]
    assert "| Name |\n| --- |\n| Apple |" in parsed.text
    assert "Beet" in parsed.text


def test_cells_without_a_type_have_text(read: Read) -> None:
    sheets = SHEETS.replace('<table:table-cell office:value-type="string">', "<table:table-cell>", 1)
    assert "| Name |\n| --- |\n| Apple |" in read(files.open_document("spreadsheet", sheets), "a.ods").text


def _workbook() -> bytearray:
    return bytearray(older_office.xls({"Fruit": [["Name", "Price"], ["Apple", "3"]]}))


def test_a_container_whose_table_has_more_entries_than_the_file_has_sectors_is_read(read: Read) -> None:
    content = _workbook()
    (table,) = struct.unpack_from("<I", content, 76)
    for number in range(len(content) // 512 - 1, 128):
        struct.pack_into("<I", content, 512 * (table + 1) + 4 * number, 2**32 - 2)
    assert "| Apple | 3 |" in read(bytes(content), "a.xls").text


def test_a_container_whose_small_sectors_are_not_full_is_read(read: Read) -> None:
    content = _workbook()
    (directory,) = struct.unpack_from("<I", content, 48)
    size_at = 512 * (directory + 1) + 120
    (size,) = struct.unpack_from("<I", content, size_at)
    struct.pack_into("<I", content, size_at, size - 20)
    assert "| Apple | 3 |" in read(bytes(content), "a.xls").text


_XML = """<?xml version="1.0"?><?mso-application progid="Excel.Sheet"?>
<Workbook xmlns="urn:schemas-microsoft-com:office:spreadsheet" xmlns:ss="urn:schemas-microsoft-com:office:spreadsheet">
<Worksheet ss:Name="Towns"><Table><Row><Cell><Data ss:Type="String">Town</Data></Cell><Cell/><Cell><Data
ss:Type="String">Day</Data></Cell></Row><Row ss:Index="4"><Cell><Data ss:Type="String">Oslo &amp; Bærum</Data></Cell>
<Cell ss:Index="3"><Data ss:Type="DateTime">2024-05-17T00:00:00.000</Data></Cell></Row></Table></Worksheet>
</Workbook>"""


@pytest.mark.parametrize("name", ["a.xls", "a.xml", "a"])
def test_a_workbook_that_was_saved_as_xml_is_a_workbook(read: Read, name: str) -> None:
    parsed = read(_XML.encode(), name)
    assert [heading.title for heading in parsed.headings] == ["Towns"]
    assert parsed.text == "## Towns\n\n| Town |  | Day |\n| --- | --- | --- |\n| Oslo & Bærum |  | 2024-05-17 |"


def test_a_workbook_of_xml_that_is_cut_off_is_refused(read: Read) -> None:
    with pytest.raises(ParseFailed, match="cut off"):
        read(_XML[:-30].encode(), "a.xls")


def test_the_beginnings_of_texts_take_linear_time() -> None:
    def detect(text: str) -> None:
        detect_text_type(text, content_type="", name="a.xml")

    start = '<?xml version="1.0"?>'
    assert takes_linear_time(detect, lambda length, seed: start + "<!-- -->" * (length // 8), 16_000)
    assert takes_linear_time(detect, lambda length, seed: start + "<a:Workbook " * (length // 12), 16_000)


@pytest.mark.parametrize(
    ("kind", "value", "shown"),
    [
        ("percentage", 'value="0.19"', "19%"),
        ("float", 'value="7385.0912"', "7385,09"),
        ("currency", 'value="5"', "5.00 €"),
        ("time", 'time-value="PT8H"', "08:00"),
    ],
)
def test_open_document_numbers_are_read_as_they_are_shown(read: Read, kind: str, value: str, shown: str) -> None:
    cell = f'<table:table-cell office:value-type="{kind}" office:{value}><text:p>{shown}</text:p></table:table-cell>'
    sheet = f'<table:table table:name="S">{_ROW.format("Rate")}<table:table-row>{cell}</table:table-row></table:table>'
    assert f"| Rate |\n| --- |\n| {shown} |" in read(files.open_document("spreadsheet", sheet), "a.ods").text
