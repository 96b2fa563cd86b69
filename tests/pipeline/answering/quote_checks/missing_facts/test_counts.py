"""Which quotes mention what is to be counted, without a number next to it."""

import pytest

from rag.pipeline.answering.quote_checks.missing_facts.counts import may_lack_count
from tests.support.checks.growth import takes_linear_time

PUPILS = "How many pupils are there?"


@pytest.mark.parametrize(
    ("question", "text", "lang"),
    [
        (PUPILS, "There are five lessons a year for each pupil.", "en"),
        ("How many rate books are there?", "Rate books of the old borough from 1790 to 1929.", "en"),
        (
            "Wie viele Parkplätze hat die Prüfstelle?",
            "Der Parkplatz ist bei der Prüfstelle. Kommen Sie um 20 Uhr.",
            "de",
        ),
        ("Combien de salariés y a-t-il ?", "Les salariés des bureaux qui ont au moins quatre mois d'ancienneté.", "fr"),
        ("¿Cuántas parcelas tiene el camping?", "Cada parcela tiene una toma de 6 amperios.", "es"),
        ("Quanti allievi ci sono?", "Gli allievi pagano la quota in segreteria entro le 20.", "it"),
        ("Quantos alunos há?", "Os alunos pagam a quota na secretaria até às 20.", "pt"),
        ("Hoeveel leerlingen zijn er?", "De leerlingen betalen bij de balie voor 20 uur.", "nl"),
    ],
)
def test_other_numbers_are_no_count(question: str, text: str, lang: str) -> None:
    assert may_lack_count(question, text, lang)


@pytest.mark.parametrize(
    ("question", "text", "lang"),
    [
        (PUPILS, "The school has 40 pupils.", "en"),
        (PUPILS, "The school has forty-one pupils.", "en"),
        (PUPILS, "Both pupils are ill.", "en"),
        (PUPILS, "There is a single pupil.", "en"),
        (PUPILS, "The school teaches 40 children.", "en"),
        ("How big is the school?", "The pupils like it.", "en"),
        ("Wie viele Schüler gibt es?", "Mehrere Schüler sind krank.", "de"),
    ],
)
def test_numbers_and_other_words_may_count(question: str, text: str, lang: str) -> None:
    assert not may_lack_count(question, text, lang)


@pytest.mark.parametrize("part", ["pupil ", "a", "1 ", "dutzend", "x-"])
def test_long_texts_take_linear_time(part: str) -> None:
    def text_of(length: int, attempt: int) -> str:
        return f"{attempt} " + part * (length // len(part))

    assert takes_linear_time(lambda text: may_lack_count(PUPILS, text, "en"), text_of, 40_000)
