"""Numbers of a workbook are read as Excel shows them."""

import io
import zipfile

import pytest

from rag.parsing.readers.office.sheets.number_formats import read_format, show_numbers
from tests.parsing import files
from tests.parsing.conftest import Read
from tests.support.checks.growth import takes_linear_time

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
EUROS = "#,##0.00\\ [$€-407];[RED]\\-#,##0.00\\ [$€-407]"


def workbook(cells: str, *codes: str) -> bytes:
    """A workbook with a header and one row of cells. `codes`: the formats of the styles from 1 on."""
    listed = "".join(
        f'<numFmt numFmtId="{163 + number}" formatCode="{code.replace(chr(34), "&quot;")}"/>'
        for number, code in enumerate(codes, 1)
    )
    styles = "".join(f'<xf numFmtId="{163 + number}"/>' for number in range(1, len(codes) + 1))
    style_part = (
        f'<styleSheet xmlns="{_MAIN}"><numFmts>{listed}</numFmts>'
        f'<cellXfs><xf numFmtId="0"/>{styles}<xf numFmtId="9"/></cellXfs></styleSheet>'
    )
    buffer = io.BytesIO()
    plain = files.xlsx({"S": [["Item", "Rate"], ["HERE"]]})
    with zipfile.ZipFile(io.BytesIO(plain)) as archive, zipfile.ZipFile(buffer, "w") as changed:
        for name in archive.namelist():
            part = archive.read(name).decode()
            changed.writestr(name, part.replace('<c r="A2" t="inlineStr"><is><t>HERE</t></is></c>', cells))
        changed.writestr("xl/styles.xml", style_part)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("code", "value", "shown"),
    [
        ('0.00"%"', "19", "19.00%"),  # these signs are texts
        ("0\\%", "19", "19%"),
        ('#,##0,"k"', "2500", "3k"),
        ('0.0,, "M"', "2500000", "2.5 M"),
        ('0" kg";[Red]-0" kg"', "-5", "-5 kg"),
        ('0" profit";0" loss"', "5", "5 profit"),
        ('0" profit";0" loss"', "-5", ""),
    ],
)
def test_shares_thousands_and_losses_keep_their_values(code: str, value: str, shown: str) -> None:
    number_format = read_format(code)
    assert number_format is not None
    assert number_format.show(value) == shown


def test_a_format_for_some_numbers_only_is_not_used() -> None:
    assert read_format('[>=1000]0,"k";0') is None


@pytest.mark.parametrize(
    ("code", "value", "shown"),
    [
        (EUROS, "1250.5", "1250.50 €"),
        ('"£"#,##0', "7.5", "£8"),
        ('_-* #,##0.00\\ "kr"_-', "5", "5.00 kr"),
        ("0.0%", "0.195", "19.5%"),
        ('0" kg"', "68", "68 kg"),
        ("$#,##0.00", "-3", "$-3.00"),
    ],
)
def test_units_of_a_format_are_read(read: Read, code: str, value: str, shown: str) -> None:
    cells = f'<c r="A2"><v>1</v></c><c r="B2" s="1"><f>A2*2</f><v>{value}</v></c>'
    assert f"| 1 | {shown} |" in read(workbook(cells, code), "a.xlsx").text
    indented = cells.replace("><f", ">\n  <f").replace("><v", ">\n  <v").replace("></c", ">\n</c")  # Gnumeric
    assert f"| 1 | {shown} |" in read(workbook(indented, code), "a.xlsx").text


def test_a_percentage_without_a_format_of_its_own_is_read(read: Read) -> None:
    assert "| 19% |" in read(workbook('<c r="A2" s="1" t="n"><v>0.19</v></c>'), "a.xlsx").text


@pytest.mark.parametrize("code", ["General", "#,##0", "dd/mm/yyyy", "[h]:mm", "# ?/?", "0.00E+00", "@", "[Red]0", "€"])
def test_other_formats_add_nothing(code: str) -> None:
    content = workbook('<c r="A2" s="1"><v>5</v></c>', code)
    assert read_format(code) is None
    assert show_numbers(content) == content


@pytest.mark.parametrize(
    "cell",
    [
        '<c r="A2" s="1"><v>1e999999</v></c>',
        '<c r="A2" s="1"><v>NaN</v></c>',
        '<c r="A2" s="1" t="s"><v>5</v></c>',  # the number of a text
        '<c r="A2" s="1" t="b"><v>1</v></c>',
        "<c >",
    ],
)
def test_what_is_no_number_stays(cell: str) -> None:
    content = workbook(cell, EUROS)
    assert show_numbers(content) == content


@pytest.mark.parametrize(
    "part", ['<c s="1">', '<c s="1">   <f/>   ', '<c s="1"><f>', '<c s="1"><f>a</f><v>', '<c s="1"><v>1</v></c>', "<c "]
)
def test_cells_are_found_in_linear_time(part: str) -> None:
    def build(size: int, _: int) -> bytes:
        return workbook(part * (size // len(part)), EUROS)

    assert takes_linear_time(show_numbers, build, 200_000)


@pytest.mark.parametrize("part", ['"', "\\", "[", "[$", "0", "_", "a"])
def test_long_formats_take_linear_time(part: str) -> None:
    assert takes_linear_time(read_format, lambda size, _: part * (size // len(part)), 20_000)
