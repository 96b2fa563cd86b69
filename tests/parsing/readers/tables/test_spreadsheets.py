"""Workbooks of Excel and OpenDocument."""

from collections.abc import Callable

import pytest

from tests.parsing import files
from tests.parsing.conftest import Read


def test_a_workbook_has_a_heading_and_table_per_sheet(read: Read) -> None:
    parsed = read(files.xlsx({"Fruit": [["Name", "Price"], ["Apple", "3"]], "Roots": [["Beet", "2"]]}), "a.xlsx")
    assert [heading.title for heading in parsed.headings] == ["Fruit", "Roots"]
    assert "| Name | Price |\n| --- | --- |\n| Apple | 3 |" in parsed.text
    assert parsed.pages == ()


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
    ],
)
def test_a_first_row_without_names_below_it_stays(read: Read, rows: list[list[str]]) -> None:
    parsed = read(files.xlsx({"S": rows}), "a.xlsx")
    assert parsed.text.startswith(f"## S\n\n| {rows[0][0]} |")


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
