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
