"""Numbers in digits and in words, which are compared by their value."""

import pytest

from rag.text.quantities.numbers import normalized_numbers
from tests.support.checks.growth import takes_linear_time


@pytest.mark.parametrize(
    ("text", "lang", "expected"),
    [
        ("It takes twelve months.", "en", {"12"}),
        ("Es dauert zwölf Monate.", "de", {"12"}),
        ("Cela dure douze mois.", "fr", {"12"}),
        ("Tarda doce meses.", "es", {"12"}),
        ("Twenty-five or ninety", "", {"25", "90"}),
        ("fünfundzwanzig, dreissig und neunundneunzig Tage", "de", {"25", "30", "99"}),
        ("vingt et un, soixante-dix-huit et quatre-vingts jours", "fr", {"21", "78", "80"}),
        ("treinta y cinco días, veintiséis en mayo", "es", {"35", "26", "5"}),
        ("a two-year plan, eine zwei-jährige Frist", "de", {"2"}),
        ("am 3. März", "de-AT", {"3"}),
        ("Twelve Monate", "de", {"12"}),
    ],
)
def test_the_names_of_numbers_are_numbers(text: str, lang: str, expected: set[str]) -> None:
    assert normalized_numbers(text, lang) == expected


@pytest.mark.parametrize(
    ("text", "lang"),
    [
        ("Ein Antrag, eine Frist und einer von einem Amt", "de"),
        ("Un jour, une semaine", "fr"),
        ("Un día, una semana, uno de ellos", "es"),
        ("He asked once, and DOS is an old system.", "en"),
        ("It was null and void: the elf has acht.", ""),
        ("Das Elfenbein ist dreist.", "de"),
    ],
)
def test_articles_and_words_of_other_languages_are_no_numbers(text: str, lang: str) -> None:
    assert normalized_numbers(text, lang) == set()


@pytest.mark.parametrize("part", ["a", "a-", "vingt et ", "vingt-"])
def test_words_with_many_hyphens_are_read_once(part: str) -> None:
    assert takes_linear_time(lambda text: normalized_numbers(text, "fr"), lambda length, _: part * length, 40_000)
