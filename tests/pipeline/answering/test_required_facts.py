"""Which quotes lack what every answer to a question has."""

import pytest

from rag.pipeline.answering.extractive.extract import EXTRACTIVE_MODEL, extract_quotes
from rag.pipeline.answering.generate import PreparedGeneration
from rag.pipeline.answering.required_facts import has_required_facts
from tests.support.growth import takes_linear_time
from tests.support.passages import passage

PHONE = "What is the phone number of the vet?"
ADDRESS = "What is the vet's e-mail address?"
PRICE = "What does a night in the hut cost?"
COUNT = "How many keys do I get?"


def has_facts(question: str, text: str, *gaps: str, **fields: object) -> bool:
    quotes = extract_quotes(question, [passage(text, **fields)])
    citations = tuple(citation for quote in quotes for citation in quote.citations)
    headings, quoted = tuple(quote.heading for quote in quotes), "\n".join(quote.text for quote in quotes)
    generation = PreparedGeneration(
        EXTRACTIVE_MODEL, iter(()), quotes=citations, headings=headings, quoted_text=quoted, first_quote=quotes[0]
    )
    return has_required_facts(question, generation, gaps)


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
        ("vet e-mail address", "The vet reads vet@hut.example every day."),
        ("change e-mail address", "Open the page of your account, and choose Change."),
        ("Who sees my phone number?", "Your phone number is seen by the porter."),
        ("How do I change my e-mail address?", "Open the page of your account, and choose Change."),
        ("What is the format of a phone number?", "A phone number begins with a plus sign."),
        ("What happens if I change my phone number?", "A message is sent to the old one."),
        ("Which phone can I use?", "Any phone with a browser can be used."),
        (PRICE, "A night in the hut costs 20 euros."),
        (PRICE, "A night in the hut is free of charge."),
        (PRICE, "| hut | price |\n| --- | --- |\n| one night in the hut | 12.50 |"),
        ("How high is the fee for a late night?", "The fee for a late night is 20 per cent."),
        ("In which year was the hut built?", "The hut was built in 1887."),
        ("In welchem Jahr wurde die Hütte gebaut?", "Die Hütte wurde 1887 gebaut."),
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
        ("What does a night in the hut cost?", "A night in the hut is booked by 20 per cent of all guests."),
        ("vet e-mail address", "The vet's e-mail address is on the door."),
        ("In which year was the hut built?", "The hut was built in spring, with 1,950 stones."),
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


@pytest.mark.parametrize(
    ("text", "gap", "expected"),
    [
        ("Tarn 5 costs 20 euros.", "Tarn 7", False),
        ("Tarn 5 or later has a lamp.", "Tarn 7", True),
        ("Tarn 7 costs 20 euros.", "Tarn 7", True),
        ("The Tarn has a lamp.", "Tarn 7", True),
        ("The Eastgate Park and Ride has 420 spaces.", "Westgate Park and Ride", False),
        ("The Park and Ride has 420 spaces.", "Westgate Park and Ride", True),
        ("Our park and ride has 420 spaces.", "Westgate Park and Ride", True),
        ("## Eastgate Park and Ride\n\nIt has 420 spaces.", "Westgate Park and Ride", False),
        ("The hut opens in March 2024.", "March 2025", False),
        ("The hut is open.", "late opening", True),
        ("Anna has the keys.", "Ben", True),
    ],
)
def test_quotes_about_a_thing_of_a_similar_name_are_no_answer(text: str, gap: str, expected: bool) -> None:
    assert has_facts("What is it?", text, gap) is expected


@pytest.mark.parametrize(
    "part", ["2024-", "20", "1 ", "(0", "call ", "a@", "2024/25 ", "from a ", "since 20", "Tarn ", "2 %", "2.", "A-"]
)
def test_facts_are_found_in_linear_time(part: str) -> None:
    cited = extract_quotes(PHONE, [passage("The vet came in 2024.")])[0].citations

    def find(text: str) -> None:
        generation = PreparedGeneration(EXTRACTIVE_MODEL, iter(()), quotes=cited, quoted_text=text)
        for question in (PHONE, ADDRESS, PRICE, "Who won the race in 2023?", "In which year was it won?"):
            has_required_facts(question, generation, ["Tarn 7", "Park and Tarn"])

    assert takes_linear_time(find, lambda length, _: (part * length)[:length], 2_000)
