"""OpenDocument, RTF, FictionBook, calendars, contacts and mailboxes."""

import pytest

from rag.parsing.encodings import decode_text
from rag.types import Heading
from tests.support.growth import takes_linear_time

from .conftest import Read


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


@pytest.mark.parametrize("declared", ["iso-8859-1", "us-ascii", "windows-1252", "x-cp1252"])
def test_pages_have_the_characters_that_browsers_show(read: Read, declared: str) -> None:
    page = f"<html><head><meta charset={declared}></head><body><p>5 € – „günstig“ don’t</p></body></html>"
    assert read(page.encode("cp1252"), "a.html").text == "5 € – „günstig“ don’t"


def test_a_few_foreign_bytes_do_not_change_the_encoding(read: Read) -> None:
    assert read("déjà vu ".encode() * 20 + b"\x93so\x94", "a.txt").text == "déjà vu " * 20 + "“so”"


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_a_mark_is_read(read: Read, encoding: str) -> None:
    assert read("Café for bees, 5 €".encode(encoding), "a.txt").text == "Café for bees, 5 €"


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
