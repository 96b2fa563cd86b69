"""Encodings of Central and Eastern Europe, of Turkish, Hebrew and Japanese mail."""

import pytest

from rag.parsing.encodings.decode_text import decode_text
from tests.parsing.conftest import Read

_CASES = [
    ("Każda książka wróci do biblioteki we wrześniu, a źródła są w spisie na końcu.", ("cp1250", "iso8859_2")),
    ("Příští číslo vyjde začátkem října a předplatné můžete uhradit v knihovně.", ("cp1250", "iso8859_2")),
    ("A könyvtár a következő héten zárva van, és a kölcsönzés később kezdődik újra.", ("cp1250", "iso8859_2")),
    ("Biblioteka će biti zatvorena u četvrtak, a čitaonica je otvorena do večeri, što može svatko.", ("cp1250",)),
    ("Biblioteka dirbs iki šeštos valandos, o vaikų skyrius bus uždarytas ir žiemą, kaip įprasta.", ("cp1257",)),
    ("Kütüphane cuma günü kapalıdır, çocuk bölümü ise öğleden sonra açılır ve akşam kapanır.", ("cp1254",)),
    ("הספרייה תהיה סגורה ביום חמישי, והאולם הקטן פתוח עד הערב.", ("cp1255",)),
    ("次回の会議は六月十日の午後二時からです。", ("iso2022_jp",)),
]


@pytest.mark.parametrize(("text", "encodings"), _CASES)
def test_one_sentence_is_read_as_it_was_written(text: str, encodings: tuple[str, ...]) -> None:
    for encoding in encodings:
        assert decode_text(text.encode(encoding)) == text


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Die Größe der Tür für Gäste ist schön und natürlich überall möglich.", "cp1252"),
        ("Библиотека закрыта в четверг, а зал открыт до вечера, как всегда.", "cp1251"),
        ("El niño comió más tarde en la habitación, y la niña también.", "cp1252"),
    ],
)
def test_other_languages_keep_their_encodings(text: str, encoding: str) -> None:
    assert decode_text(text.encode(encoding)) == text


def test_japanese_in_ascii_bytes_is_no_ascii_text(read: Read) -> None:
    assert read("会議は十時からです。".encode("iso2022_jp"), "a.txt").text == "会議は十時からです。"
