"""Which quotes may well not say what a thing costs."""

import pytest

from rag.pipeline.answering.quote_checks.missing_facts.prices import may_lack_price
from tests.support.checks.growth import takes_linear_time
from tests.support.passages import passage

LIST = "| hire | per day |\n| --- | --- |\n| barge | £60.00 |\n| tumbler | £22.00 |"


def may_lack(question: str, text: str, **fields: object) -> bool:
    return may_lack_price(question, text, passage(text, **fields))


@pytest.mark.parametrize(
    ("question", "text", "lang"),
    [
        ("What does the red module cost?", "Up to four of the red module fit the controller.", "en"),
        ("How much does the red module cost?", "The red module is mounted first, with 4 screws.", "en"),
        ("How much did it cost to move the red module?", "The red module was moved in March.", "en"),
        ("What is the weekly rent of a flat?", "A flat has one bedroom for each couple.", "en"),
        ("What does the red module cost?", "The red module is made on request, 90 per cent of it in Spain.", "en"),
        ("What is the deposit of the red module?", "The red module is mounted first.", "en"),
        ("annual fee teachers", "Teachers come once a year.", "en"),
        ("Was kostet die gelbe Tonne?", "Die gelbe Tonne hat 60, 80 oder 240 Liter.", "de"),
        ("Wie hoch ist die Miete der Hütte?", "Die Hütte hat zwei Räume.", "de"),
        ("prix d'un disque", "Il faut un disque trois fois plus grand.", "fr"),
        ("Combien coûte la clé ?", "La clé est chez le gardien.", "fr"),
        ("¿Cuánto cuesta la revisión?", "La revisión es cada 12 meses.", "es"),
        ("Quanto costa la chiave?", "La chiave è dal portiere.", "it"),
        ("Quanto custa a chave?", "A chave está com o porteiro.", "pt"),
        ("Wat kost de sleutel?", "De sleutel ligt bij de portier.", "nl"),
    ],
)
def test_quotes_without_a_price_may_lack_it(question: str, text: str, lang: str) -> None:
    assert may_lack(question, text, lang=lang)


@pytest.mark.parametrize(
    ("question", "text", "lang"),
    [
        ("forklift hire price", LIST, "en"),
        ("hire price forklift", LIST, "en"),
        ("What does the hire of a forklift cost per day?", LIST, "en"),
        ("What is the insurance value of the barge?", "The barge is insured. The excess is 75 euros.", "en"),
        ("What is the deposit for a barge?", LIST, "en"),
        ("What is the daily charge for a forklift?", LIST, "en"),
        ("Was kostet ein Stellplatz für ein Boot?", "Stellplatz für ein Auto: 95 €", "de"),
        ("Combien coûte une nuit pour un chien ?", "La nuit coûte 20 euros pour un chat.", "fr"),
    ],
)
def test_passages_without_the_thing_may_lack_its_price(question: str, text: str, lang: str) -> None:
    assert may_lack(question, text, lang=lang)


@pytest.mark.parametrize(
    ("question", "text", "lang"),
    [
        ("barge hire price", LIST, "en"),
        ("What does the hire of a barge cost per day?", LIST, "en"),
        ("What does a lesson cost for a motorcycle A2?", "Lesson, class A2: 64.00", "en"),  # the code is the thing
        ("What does it cost to bring a dog along?", "Animals: 5 euros a night", "en"),
        ("What does it cost if I cancel?", "Cancellation: 5 euros", "en"),
        ("What does a weekly ticket cost for an adult?", "Adult — Week: £14.50", "en"),
        ("What does on-site training cost?", "Training at your place: 5 euros", "en"),
        ("What does the red module cost?", "The red module is free.", "en"),
        ("What does the red module cost?", "The red module: 45.-", "en"),
        ("What does the red module cost?", "Red module 64.00", "en"),
        ("How much does the red module cost?", "The red module: 1200 forints", "en"),
        ("What does the red module cost?", "| red module | on request |", "en"),
        ("What is the late fee?", "Two per cent a month are added if you are late.", "en"),
        ("What is the price list of the barge?", "The barge is on page 4.", "en"),
        ("change the fee of the barge", "Open the page of the barge.", "en"),
        ("What is the charge level of the barge?", "The barge shows it on its display.", "en"),
        ("Who pays the barge?", "The village does.", "en"),
        ("How is the price of the barge decided?", "The board decides on the barge.", "en"),
        ("Was kostet der Schlüssel?", "Der Schlüssel ist im Beitrag inbegriffen.", "de"),
        ("Was kostet der Schlüssel?", "Für den Schlüssel nehmen wir eine Schlüsselgebühr von zehn.", "de"),
        ("Combien coûte la clé ?", "La clé est offerte aux membres.", "fr"),
        ("¿Cuánto cuesta la llave?", "La llave la paga el club.", "es"),
        ("Quanto costa la chiave?", "La chiave è a carico del socio.", "it"),
        ("Quanto custa a chave?", "A chave é grátis.", "pt"),
        ("Wat kost de sleutel?", "De sleutel is inbegrepen.", "nl"),
    ],
)
def test_prices_and_what_is_said_instead_are_not_lacking(question: str, text: str, lang: str) -> None:
    assert not may_lack(question, text, lang=lang)


@pytest.mark.parametrize(
    "part", ["a ", "price ", "what does ", "1.", "0", "a-", "how much is the ", "wie hoch ist die ", "x cost ", "’"]
)
def test_long_questions_and_texts_take_linear_time(part: str) -> None:
    def text_of(length: int, attempt: int) -> str:
        return f"{attempt} " + part * (length // len(part))

    hire = passage(LIST)
    assert takes_linear_time(lambda text: may_lack_price("What does it cost?", text, hire), text_of, 40_000)
    assert takes_linear_time(lambda text: may_lack_price(text, "5 euros", hire), text_of, 40_000)
