"""Which quotes lack what every answer to a question has."""

import pytest

from rag.pipeline.answering.extractive.extract import extract_quotes
from rag.pipeline.answering.required_facts import has_required_facts
from tests.support.growth import takes_linear_time
from tests.support.passages import passage

PHONE = "What is the phone number of the vet?"
ADDRESS = "What is the vet's e-mail address?"
PRICE = "What does a night in the hut cost?"
COUNT = "How many keys do I get?"


def has_facts(question: str, text: str, **fields: object) -> bool:
    quotes = extract_quotes(question, [passage(text, **fields)])
    citations = [citation for quote in quotes for citation in quote.citations]
    return has_required_facts(question, citations, "\n".join(quote.text for quote in quotes))


@pytest.mark.parametrize(
    ("question", "text"),
    [
        (PHONE, "The vet's phone number is +33 4 68 39 01 12."),
        (PHONE, "The vet is at extension 14."),
        (PHONE, "The vet is called by tel. 118"),
        ("telephone number of the vet", "The vet can be called: 0664/1234567."),
        ("Which number do I call at night?", "At night you call 112."),
        ("Wie lautet die Notrufnummer?", "Notruf: 112"),
        ("Quel est le numéro de téléphone du vétérinaire ?", "Le vétérinaire répond au 04 68 39 01 12."),
        (ADDRESS, "The vet reads vet@hut.example every day."),
        ("E-mail address of the vet", "The vet reads vet (at) hut.example every day."),
        ("How do I change my e-mail address?", "Open the page of your account, and choose Change."),
        ("What is the format of a phone number?", "A phone number begins with a plus sign."),
        ("What happens if I change my phone number?", "A message is sent to the old one."),
        ("Which phone can I use?", "Any phone with a browser can be used."),
        (PRICE, "A night in the hut costs 20 euros."),
        (PRICE, "A night in the hut is free of charge."),
        (PRICE, "A night in the hut is paid in cash.\n\n| hut | price |\n| --- | --- |\n| one night | 12.50 |"),
        ("Was kostet eine Nacht?", "Eine Nacht ist im Beitrag inbegriffen."),
        ("Combien coûte une nuit ?", "La nuit est gratuite pour les membres."),
        ("¿Cuánto cuesta una noche?", "La noche está incluida."),
        (COUNT, "Each member receives three keys."),
        ("Who won the race in 2023?", "The race of 2023 was won by Anna."),
        ("Who won the race in 2023?", "Anna won the race."),
        ("Who won the race in 2023?", "Anna won the race in the season 2022/23."),
        ("Who won the race in 2025?", "Anna won the race in the season 2024-2025."),
        ("Who won the race in 2023?", "Anna won all races from 2021 to 2024."),
        ("What is the fee in 2025?", "The fee is 20 euros since May 2019."),
        ("Was kostet eine Nacht 2025?", "Eine Nacht kostet ab 1. Januar 2019 20 Euro."),
        ("What is the fee in 2025?", "The fee is 20 euros until 2030."),
        ("We joined in 2019. What is the fee?", "The fee is 20 euros since 2024."),
    ],
)  # fmt: skip
def test_quotes_that_may_be_the_answer(question: str, text: str) -> None:
    assert has_facts(question, text)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        (PHONE, "The vet has a phone number, which is on the door since 11.05.2024, from 10:00 to 12:30."),
        ("telephone number of the vet", "If the dog falls ill, we call the vet, and the bill of €1,500 is yours."),
        ("Wie lautet die Telefonnummer der Tierärztin?", "Die Tierärztin kommt am Montag um 10.30 Uhr."),
        ("¿Cuál es el teléfono del veterinario?", "El veterinario viene los lunes de 10.00 a 12.30 horas."),
        (ADDRESS, "The vet's e-mail address is on the door."),
        ("Wie lautet die E-Mail-Adresse der Tierärztin?", "Die Adresse steht an der Tür."),
        (PRICE, "A night in the hut has breakfast for 12 people at 07:30."),
        ("Was kostet eine Nacht?", "Eine Nacht in der Hütte beginnt um 18.30 Uhr und endet am 12.05.2024."),
        (COUNT, "Keys are given out in the office from 9 to 12."),
        ("Who won the race in 2023?", "Anna won the race in 2024."),
        ("Who won the race in 2023?", "In 2021 and 2022 it was cold. Anna won the race."),
        ("price of the race 2025", "The price of the race is 20 euros in 2024."),
    ],
)
def test_quotes_that_lack_what_the_question_asks_for(question: str, text: str) -> None:
    assert not has_facts(question, text)


@pytest.mark.parametrize("question", [PRICE, COUNT])
def test_prices_and_counts_are_not_required_in_languages_that_are_not_known(question: str) -> None:
    assert has_facts(question, "Noc w domku jest opłacana z góry, klucze są u dozorcy.", lang="pl")


def test_nothing_is_counted_in_another_language() -> None:
    assert has_facts(COUNT, "Jeder bekommt drei Schlüssel.", lang="de")


@pytest.mark.parametrize("part", ["2024-", "20", "1 ", "(0", "call ", "a@", "2024/25 ", "from a ", "since 20"])
def test_facts_are_found_in_linear_time(part: str) -> None:
    cited = extract_quotes(PHONE, [passage("The vet came in 2024.")])[0].citations

    def find(text: str) -> None:
        for question in (PHONE, ADDRESS, "Who won the race in 2023?"):
            has_required_facts(question, cited, text)

    assert takes_linear_time(find, lambda length, _: (part * length)[:length], 2_000)
