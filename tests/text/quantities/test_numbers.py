"""Numbers in digits and in words, which are compared by their value."""

import pytest

from rag.text.quantities.numbers import find_digits, join_thousands, normalized_numbers, with_ascii_digits
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
        ("ventuno o sei giorni, trentatré a maggio", "it", {"21", "6", "33", "5"}),
        ("trinta e cinco dias, duas em março", "pt", {"35", "2", "3"}),
        ("vijfentwintig, tweeëndertig en acht dagen in mei", "nl", {"25", "32", "8", "5"}),
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
        ("Un giorno, una settimana, uno di loro", "it"),
        ("Um dia, uma semana", "pt"),
        ("Een dag, een week", "nl"),
        ("The rent is due, and Otto sei dabei.", "de"),
        ("Das Elfenbein ist dreist.", "de"),
    ],
)
def test_articles_and_words_of_other_languages_are_no_numbers(text: str, lang: str) -> None:
    assert normalized_numbers(text, lang) == set()


@pytest.mark.parametrize("part", ["a", "a-", "vingt et ", "vingt-", "trinta e "])
def test_words_with_many_hyphens_are_read_once(part: str) -> None:
    assert takes_linear_time(lambda text: normalized_numbers(text, "fr"), lambda length, _: part * length, 40_000)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1.100 or 1,100, €1'100,50", "1100 or 1100, €1100,50"),
        ("1.234.567 and -12,500.", "1234567 and -12500."),
        ("0.125, 2024.001, v2.100.3 and 2.4.100", "0.125, 2024.001, v2.100.3 and 2.4.100"),
    ],
)
def test_only_the_signs_between_thousands_are_left_out(text: str, expected: str) -> None:
    assert join_thousands(text) == expected


@pytest.mark.parametrize("part", ["1", "100.", "1,", "1.100"])
def test_thousands_are_found_in_linear_time(part: str) -> None:
    assert takes_linear_time(join_thousands, lambda length, _: part * (length // len(part)), 40_000)


def test_digits_of_other_scripts_are_numbers() -> None:
    assert normalized_numbers("٢٠٠ ريال، ٣٫٥ كم") == {"200", "3.5"}
    assert normalized_numbers("２０２６年１，２００円") == {"2026", "1200"}
    assert find_digits("غرامة ٢٠٠") == {"200"}
    assert with_ascii_digits("停车，两小时。") == "停车，两小时。"
