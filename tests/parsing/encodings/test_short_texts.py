"""Short texts in older encodings, which have too few letters for a comparison of frequencies."""

import hypothesis
import pytest
from hypothesis import strategies

from rag.parsing.encodings.decode_text import decode_text

_GERMAN = """
Die Preise im März steigen für Öl und Gemüse, während Bücher günstiger werden. Die Gebühr beträgt 20 Euro für jeden
größeren Artikel. Öffnungszeiten hängen an der Tür. Über die Straße führt ein Weg. Wir öffnen täglich um 9 Uhr.
"""
_FRENCH = """
Les prix ont augmenté en février. L'hôtel est fermé à midi, et la réception ouvre à huit heures. Le garçon est à côté.
Où êtes-vous? C'est déjà l'été. Les élèves ont reçu les clés.
"""
_SPANISH = """
El niño comió en la habitación. ¿Dónde está la estación? Mañana será otro día. Los años pasan. El próximo autobús sale
más tarde. La música está aquí.
"""
_RUSSIAN = """
Цены на нефть выросли в марте. Библиотека открыта с девяти до шести. Детям вход бесплатный, а взрослые платят. Мы
закрыты по понедельникам, но не в мае.
"""
_JAPANESE = """
価格は三月に上がりました。 図書館は九時に開きます。 子供は無料です。 明日は雨が降るでしょう。 傘を忘れないでください。
"""
_CHINESE = "三月份价格上涨。 图书馆九点开门。 儿童免费入场，需要有成人陪同。 明天会下雨，请记得带伞。 后天会放晴。"
_TAIWANESE = "三月份價格上漲。 圖書館九點開門。 兒童免費入場，需要有成人陪同。 明天會下雨，請記得帶傘。 後天會放晴。"
_KOREAN = "가격은 삼월에 올랐습니다. 도서관은 아홉시에 엽니다. 어린이는 무료입니다. 내일은 비가 옵니다."
_TEXTS = [
    *(
        (text, encoding)
        for text in (_GERMAN, _FRENCH, _SPANISH)
        for encoding in ("cp850", "cp1252", "latin-1", "utf-16")
    ),
    *((_RUSSIAN, encoding) for encoding in ("cp1251", "koi8_r", "cp866", "utf-16")),
    *((_JAPANESE, encoding) for encoding in ("shift_jis", "euc_jp", "utf-16")),
    (_CHINESE, "gb18030"),
    (_TAIWANESE, "big5"),
    (_KOREAN, "euc-kr"),
]


@pytest.mark.parametrize(("text", "encoding"), _TEXTS)
@hypothesis.given(data=strategies.data())
def test_a_few_sentences_are_read_as_they_were_written(text: str, encoding: str, data: strategies.DataObject) -> None:
    words = text.split()
    first = data.draw(strategies.integers(0, len(words) - 1), "first word")
    count = data.draw(strategies.integers(5, 60), "number of words")
    chosen = " ".join((words * 4)[first : first + count])
    assert decode_text(chosen.encode(encoding)) == chosen


def test_a_capital_letter_between_a_capital_and_a_small_one_is_of_another_encoding() -> None:
    """In DOS code page 850, these would be "Nömes" and "SÅte"."""
    text = "Ville,Habitants\nNîmes,148000\nSète,44000\n"
    assert decode_text(text.encode("mac_roman")) == text
