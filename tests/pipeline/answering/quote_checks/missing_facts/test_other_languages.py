"""What may be an answer in Italian, Portuguese and Dutch, without a number in digits."""

import pytest

from rag.pipeline.answering.quote_checks.missing_facts.other_languages import (
    is_in_other_script,
    may_be_count,
    may_be_price,
    may_be_price_in_other_script,
    may_be_time_or_weight,
)
from tests.support.checks.growth import takes_linear_time


@pytest.mark.parametrize(
    ("lang", "text", "expected"),
    [
        ("it", "Il corso è a carico del comune.", True),
        ("it", "Per il corso non si paga.", True),
        ("it", "Il corso costa la metà per gli studenti.", True),
        ("it", "Il corso si tiene in sala.", False),
        ("pt", "O curso é oferecido aos sócios.", True),
        ("pt", "O preço do curso depende da época.", True),
        ("pt", "O curso realiza-se na sala.", False),
        ("nl", "De cursus is voor rekening van de gemeente.", True),
        ("nl", "De cursus is voor leden vrij.", True),
        ("nl", "De cursus is in de zaal.", False),
        ("en", "Base conditions, non-members, pagan rites", False),
    ],
)
def test_prices(lang: str, text: str, expected: bool) -> None:
    assert may_be_price(text, lang) is expected


@pytest.mark.parametrize(
    ("lang", "text", "expected"),
    [
        ("it", "Il bar apre alle undici.", True),
        ("it", "Il bar apre dopo pranzo.", True),
        ("it", "Il bar è accanto al molo.", False),
        ("pt", "O bar abre pelas nove.", True),
        ("pt", "O bar abre ao amanhecer.", True),
        ("pt", "O bar fica no cais.", False),
        ("nl", "De bar opent rond half negen.", True),
        ("nl", "De bar is dicht.", True),
        ("nl", "De boot is loodzwaar.", True),
        ("nl", "De bar is naast de steiger.", False),
        ("de", "Das ist nicht dicht, mai pesante.", False),
    ],
)
def test_times_and_weights(lang: str, text: str, expected: bool) -> None:
    assert may_be_time_or_weight(text, lang) is expected


@pytest.mark.parametrize(
    ("lang", "text", "expected"),
    [
        ("it", "In sala ci sono sei sedie.", True),
        ("it", "Una persona sola.", True),
        ("it", "Le sedie sono in sala.", False),
        ("pt", "Pode levar uma dezena.", True),
        ("pt", "As cadeiras estão na sala.", False),
        ("nl", "Gasten mogen niet mee.", True),
        ("nl", "De stoelen staan in een zaal.", False),
        ("de", "Sei allein, geen Otto ist da.", False),
    ],
)
def test_counts(lang: str, text: str, expected: bool) -> None:
    assert may_be_count(text, lang) is expected


@pytest.mark.parametrize("part", ["a", "alle ", "all'", "vrij", "zwaar", "om ", "1"])
def test_they_are_found_in_linear_time(part: str) -> None:
    def find(text: str) -> None:
        for lang in ("it", "pt", "nl"):
            for step in (may_be_price, may_be_time_or_weight, may_be_count):
                step(text, lang)

    assert takes_linear_time(find, lambda length, _: (part * length)[:length], 2_000)


@pytest.mark.parametrize(
    ("query", "text", "expected"),
    [
        ("半年卡多少钱？", "因病可以暂停，每年一次，最长三个月，工坊在15个工作日内扣除10%。", False),
        ("退卡手续费多少？", "扣除10%。", True),
        ("年卡多少钱？", "- 年卡 — 会员价: 5600", True),
        ("亲子课多少钱？", "家长陪同的孩子免收。", True),
        ("Сколько получает инструктор?", "Запишитесь до 18:00 по телефону +7 (812) 555-01-10, за 2 дня.", False),
        ("Сколько стоит шлем?", "Шлем стоит триста рублей.", True),
        ("Сколько стоит шлем?", "Шлем входит в комплект.", True),
        ("كم سعر الطباعة؟", "الدورة يوم الأحد لمدة 3 ساعات.", False),
        ("كم سعر الطباعة؟", "الطباعة مجانية.", True),
        ("時給はいくらですか。", "毎月7日の午前10時から相談に応じない。", True),
        ("時給はいくらですか。", "指導員は田村洋子です。", False),
    ],
)
def test_prices_in_other_scripts(query: str, text: str, expected: bool) -> None:
    assert may_be_price_in_other_script(query, text) is expected


def test_which_languages_have_other_scripts() -> None:
    assert [lang for lang in ("ru", "ar", "zh-Hans", "ja", "ko", "th", "de", "") if is_in_other_script(lang)] == [
        "ru",
        "ar",
        "zh-Hans",
        "ja",
        "ko",
    ]
    assert takes_linear_time(
        lambda text: may_be_price_in_other_script("年卡多少钱？", text), lambda length, _: "1 (" * length, 10_000
    )
