"""Tables in CSV files."""

import csv

import pytest

from rag.errors import ParseFailed
from rag.parsing.readers.csv_tables import read_csv
from rag.parsing.sandbox.limits import Limits
from tests.parsing.conftest import Read
from tests.support.checks.growth import takes_linear_time

LIMITS = Limits(timeout_seconds=60, memory_bytes=1 << 30, text_bytes=1 << 26)


def test_csv_rows_contain_column_names(read: Read) -> None:
    parsed = read(b'Name;Town\r\nAda;"Kings;\r\nLynn"\r\nBen;\r\n', "a.csv")
    assert parsed.text == "Name: Ada | Town: Kings; Lynn\nName: Ben"


def test_csv_without_a_header_has_one_line_per_row(read: Read) -> None:
    assert read(b"Ada,31\nBen,29\n", "a.csv").text == "Ada | 31\nBen | 29"


def test_a_declared_delimiter_is_used(read: Read) -> None:
    assert read(b"sep=;\r\nName;Town, street\r\nAda;Lynn\r\n", "a.csv").text == "Name: Ada | Town, street: Lynn"


def test_long_fields_are_read_and_the_limit_of_the_process_stays() -> None:
    limit = csv.field_size_limit()
    assert read_csv(b"a,b\n1," + b"x" * 2 * limit, LIMITS).text == "a: 1 | b: " + "x" * 2 * limit
    assert csv.field_size_limit() == limit


def test_short_rows_below_a_wide_header_are_read_in_linear_time(read: Read) -> None:
    def table_of(columns: int, _: int) -> bytes:
        return (",".join(f"c{number}" for number in range(columns)) + "\n" + "x,1\n" * columns).encode()

    assert takes_linear_time(lambda table: read_csv(table, LIMITS), table_of, 8_000)
    assert read(b"a,b\n1,2,3,,5\n", "a.csv").text == "a: 1 | b: 2 | 3 | 5"


def test_a_table_has_as_many_columns_as_a_sheet(read: Read) -> None:
    def table_of(columns: int) -> bytes:
        return "\n".join(",".join(f"{part}{number}" for number in range(columns)) for part in ("c", "")).encode()

    assert read(table_of(16_384), "a.csv").text.endswith(" | c16383: 16383")
    with pytest.raises(ParseFailed, match=r"16,385 columns; at most 16,384 are read\. Send it in parts"):
        read(table_of(16_385), "a.csv")
    values = b",".join(b"%d" % number for number in range(20_000))  # without names
    assert read(values, "a.csv").text.endswith(" | 19999")


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_lines_above_the_header_are_no_header(read: Read, mark: str) -> None:
    rows = [["Day", "Payee", "Amount"], ["03.01.", "Works", "-84"], ["05.01.", "Baker", "-6"]]
    text = "Account 4711\nYear 2024\n\n" + "\n".join(mark.join(row) for row in rows)
    assert read(text.encode(), "a.csv").text == (
        "Account 4711\nYear 2024\nDay: 03.01. | Payee: Works | Amount: -84\nDay: 05.01. | Payee: Baker | Amount: -6"
    )


def test_a_line_of_two_values_above_a_wide_header_is_no_header(read: Read) -> None:
    table = "Day,Payee,Amount,Tax,Sum\n03.01.,Works,84,16,100\n05.01.,Baker,6,1,7"
    parsed = read(f"As of,1 May,,,\n{table}".encode(), "a.csv").text
    assert parsed.startswith("As of | 1 May\nDay: 03.01. | Payee: Works | ")


def test_lines_of_half_as_many_values_above_a_header_are_no_header(read: Read) -> None:
    """Banks write the account, the period and the balance above the bookings."""
    above = "Account;4711\nBalance;2.417,08;EUR\n"
    table = "Day;Payee;Purpose;Amount;Tax;Sum\n03.01.;Works;Light;84;16;100\n05.01.;Baker;Bread;6;1;7"
    parsed = read(f"{above}{table}".encode(), "a.csv").text
    assert parsed.startswith("Account | 4711\nBalance | 2.417,08 | EUR\nDay: 03.01. | Payee: Works | ")


def test_a_row_with_more_values_than_the_others_is_no_header(read: Read) -> None:
    """Somebody forgot the quotes around an answer with commas."""
    rows = "Question,Answer\nOpen?,Yes\nWhere?,In Ulm,near the church,on the left,behind it\nWhen?,Daily\nWho?,Ann"
    parsed = read(rows.encode(), "a.csv").text
    assert parsed.startswith("Question: Open? | Answer: Yes\nQuestion: Where? | Answer: In Ulm | near the church")
    assert parsed.endswith("Question: Who? | Answer: Ann")


def test_a_row_with_one_value_within_a_table_is_no_title(read: Read) -> None:
    assert read(b"Name,Price\nApple,3\nRoots\nBeet,2", "a.csv").text == (
        "Name: Apple | Price: 3\nName: Roots\nName: Beet | Price: 2"
    )


@pytest.mark.parametrize(
    "rows",
    [
        ["Ann,3 May", "Ben,14 June"],
        ["Ann,2024-05-03", "Ben,2024-06-14", "Cem,unknown", "Dora,2024-01-02"],
        ["Oats,5 kg", "Rye,12.5 kg"],
        ["Ann,ann@example.com", "Ben,b.lee@example.org"],
        ["Ann,Oslo,Sales", "Ben,Rome,Sales"],
    ],
)
def test_a_row_of_data_below_a_title_is_no_header(read: Read, rows: list[str]) -> None:
    lines = [row.replace(",", " | ") for row in rows]
    assert read("\n".join(["Our list", *rows]).encode(), "a.csv").text == "\n".join(["Our list", *lines])


@pytest.mark.parametrize(
    ("header", "row"),
    [("Name,Week 1", "Ann,Room 3"), ("Zone,5 kg", "EU,12.5"), ("Name,Day", "Name,Day"), ("Grain,Sold", "Rye,5 kg")],
)
def test_names_with_numbers_and_a_repeated_header_are_a_header(read: Read, header: str, row: str) -> None:
    named = " | ".join(f"{name}: {value}" for name, value in zip(header.split(","), row.split(","), strict=True))
    assert read(f"Our list\n{header}\n{row}".encode(), "a.csv").text == f"Our list\n{named}"


@pytest.mark.parametrize("part", ["1", "1,", "1 a ", ",,", "a@"])
def test_long_values_below_a_title_take_linear_time(part: str) -> None:
    def table_of(length: int, number: int) -> bytes:
        rows = [f'{number};"{part * (length // len(part))}"' for number in "abc"]
        return "\n".join([f"Our list {number}", *rows]).encode()

    assert takes_linear_time(lambda table: read_csv(table, LIMITS), table_of, 100_000)
