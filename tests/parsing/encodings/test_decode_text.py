"""Encodings of texts and web pages: Unicode, declared ones, and older ones that are recognised by their letters."""

import pytest

from rag.errors import UnsupportedFormat
from rag.parsing.encodings.decode_text import decode_text
from tests.parsing.conftest import Read
from tests.support.checks.growth import takes_linear_time


@pytest.mark.parametrize("declared", ["iso-8859-1", "us-ascii", "windows-1252", "x-cp1252"])
def test_pages_have_the_characters_that_browsers_show(read: Read, declared: str) -> None:
    page = f"<html><head><meta charset={declared}></head><body><p>5 € – „günstig“ don’t</p></body></html>"
    assert read(page.encode("cp1252"), "a.html").text == "5 € – „günstig“ don’t"


def test_a_few_foreign_bytes_do_not_change_the_encoding(read: Read) -> None:
    assert read("déjà vu ".encode() * 20 + b"\x93so\x94", "a.txt").text == "déjà vu " * 20 + "“so”"


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252"])
def test_nul_characters_that_fill_the_end_of_a_file_are_left_out(read: Read, encoding: str) -> None:
    assert read("Café for bees\n".encode(encoding) + b"\0" * 200 + b"\n", "a.txt").text == "Café for bees"
    with pytest.raises(UnsupportedFormat):
        read("Café\n\0\0for bees".encode(encoding), "a.txt")


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


@pytest.mark.parametrize(("line", "encoding"), [("é là", "cp1252"), ("да и нет", "cp1251")])
def test_a_long_word_in_an_older_encoding_is_read_once(line: str, encoding: str) -> None:
    def text_of(length: int, _: int) -> bytes:
        return f"{line}\n".encode(encoding) + b"a" * length + b"\n"

    assert decode_text(text_of(9, 0)) == f"{line}\naaaaaaaaa\n"
    assert takes_linear_time(decode_text, text_of, 16_000)


def test_foreign_words_in_an_english_text_are_read(read: Read) -> None:
    text = "The city 서울 (Seoul) is the capital of Korea 한국. Its price rises. 가격은 올랐습니다"
    assert read(text.encode("euc-kr"), "a.txt").text == text


@pytest.mark.parametrize("encoding", ["cp850", "cp1252"])
@pytest.mark.parametrize("text", ["März", "Die Preise im März", "Le prix a augmenté", "El niño vivía aquí"])
def test_a_letter_that_is_not_ascii_is_no_foreign_script(read: Read, encoding: str, text: str) -> None:
    assert read(text.encode(encoding), "a.txt").text == text


def test_texts_of_old_macs_are_read(read: Read) -> None:
    text = "Die Preise für Öl und Gemüse steigen – “sehr”."
    assert read(text.encode("mac_roman"), "a.txt").text == text


@pytest.mark.parametrize("text", ["It’s “fair” — or not…", "A word—word, 5 € and ½", "Die Kosten … „fest“ – für 20 °C"])
def test_symbols_of_windows_are_no_letters_of_dos(read: Read, text: str) -> None:
    assert read(text.encode("cp1252"), "a.txt").text == text


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32", "cp1252"])
def test_unicode_and_cp1252_are_decoded(read: Read, encoding: str) -> None:
    assert read("Prix: 5 € à payer".encode(encoding), "a.txt").text == "Prix: 5 € à payer"


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("名前,年齢,住所\n佐藤太郎,30,東京\n三木英子,25,大阪\n", "cp932"),
        ("Привет, как дела? Это обычный русский текст.", "cp1251"),
        ("这是一个中文句子,用于测试编码检测。", "gb18030"),
    ],
)
def test_legacy_encodings_are_detected(read: Read, text: str, encoding: str) -> None:
    assert read(text.encode(encoding), "a.txt").text == text


def test_a_declared_encoding_is_used(read: Read) -> None:
    page = "<html><head><meta charset=iso-8859-1></head><body><p>Grüße</p></body></html>"
    assert read(page.encode("latin-1"), "a.html").text == "Grüße"
