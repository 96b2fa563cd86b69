"""OpenDocument, RTF, FictionBook, calendars, contacts and mailboxes."""

import csv

import pytest

from rag.parsing.encodings import decode_text
from rag.parsing.readers.csv_tables import read_csv
from rag.parsing.sandbox.limits import Limits
from rag.types import Heading
from tests.support.deferred import extracted_markdown
from tests.support.growth import takes_linear_time

from .conftest import Read

LIMITS = Limits(timeout_seconds=60, memory_bytes=1 << 30, text_bytes=1 << 26)


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("## Installing {#install}", "Installing"),
        ("## Installing {: #install .wide }", "Installing"),
        ('## <a name="install"></a>Installing', "Installing"),
        ('## Installing <a href="#install">#</a> ##', "Installing"),
        ("## `{#if}` blocks", "`{#if}` blocks"),
        ("## Sets like {1, 2}", "Sets like {1, 2}"),
        ("## List<String>", "List<String>"),
        ("## {#install}", "{#install}"),
    ],
)
def test_titles_of_headings_have_no_anchors(read: Read, line: str, title: str) -> None:
    text = f"# Zebras\n\n{line}\n\nThey sleep standing up.\n"
    document = read(text.encode(), "zebras.md")
    assert document.headings[1].title == title
    assert document.text == text


def test_front_matter_declares_the_title_and_is_no_heading(read: Read) -> None:
    text = '---\ntitle: "Bees: a guide"\ntags: [a]\n---\n\n# Hive\n'
    parsed = read(text.encode(), "a.md")
    assert (parsed.text, parsed.title) == (text, "Bees: a guide")
    assert parsed.headings == (Heading(text.index("# Hive"), 1, "Hive"),)


def test_the_title_of_a_web_page_is_part_of_its_text(read: Read) -> None:
    parsed = read(b"<html><head><title>Honey prices</title></head><body><p>Five euros.</p></body></html>", "a.html")
    assert parsed.text == "# Honey prices\n\nFive euros."


@pytest.mark.parametrize("declared", ["iso-8859-1", "us-ascii", "windows-1252", "x-cp1252"])
def test_pages_have_the_characters_that_browsers_show(read: Read, declared: str) -> None:
    page = f"<html><head><meta charset={declared}></head><body><p>5 € – „günstig“ don’t</p></body></html>"
    assert read(page.encode("cp1252"), "a.html").text == "5 € – „günstig“ don’t"


def test_a_few_foreign_bytes_do_not_change_the_encoding(read: Read) -> None:
    assert read("déjà vu ".encode() * 20 + b"\x93so\x94", "a.txt").text == "déjà vu " * 20 + "“so”"


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_a_mark_is_read(read: Read, encoding: str) -> None:
    assert read("Café for bees, 5 €".encode(encoding), "a.txt").text == "Café for bees, 5 €"


def test_a_bold_line_in_a_pdf_is_a_heading() -> None:
    assert extracted_markdown.promote_bold_lines("**Bees**\n\nText **bold** here.\n\n**12,50**\n\n## A").split("\n\n")[
        1:5
    ] == [
        "# Bees",
        "Text **bold** here.",
        "**12,50**",
        "## A",
    ]


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


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Сегодня в городе тепло и солнечно, завтра ожидается дождь. Температура двадцать градусов.", "koi8_r"),
        ("Сегодня в городе тепло и солнечно, завтра ожидается дождь. Температура двадцать градусов.", "cp1251"),
        ("Σήμερα ο καιρός είναι καλός και αύριο θα βρέξει στην Αθήνα και στη Θεσσαλονίκη.", "cp1253"),
        ("明日は雨が降るでしょう。傘を忘れないでください。気温は二十度です。", "euc_jp"),
        ("明日は雨が降るでしょう。傘を忘れないでください。気温は二十度です。", "cp932"),
        ("明天会下雨，请记得带伞。气象局说今天的温度是二十度，后天会放晴。", "gb18030"),
    ],
)
def test_older_encodings_are_recognised_by_their_letters(read: Read, text: str, encoding: str) -> None:
    assert read(text.encode(encoding), "a.txt").text == text


def test_a_long_word_in_an_older_encoding_is_read_once() -> None:
    def text_of(length: int, _: int) -> bytes:
        return "é là\n".encode("cp1252") + b"a" * length + b"\n"

    assert decode_text(text_of(9, 0)) == "é là\naaaaaaaaa\n"
    assert takes_linear_time(decode_text, text_of, 16_000)


def test_json_lines_are_read_with_their_characters(read: Read) -> None:
    lines = '{"id":1,"text":"Bees"}\n{"id":2,"text":"K\\u00e4fer"}\nno \\u00e4 JSON'
    parsed = read(lines.encode(), "a.jsonl")
    assert parsed.text == '{"id":1,"text":"Bees"}\n{"id": 2, "text": "Käfer"}\nno \\u00e4 JSON'
