"""Which texts are about other years than the one that is asked for."""

import pytest

from rag.pipeline.answering.quote_checks.other_things.other_years import is_about_other_years
from tests.support.checks.growth import takes_linear_time
from tests.support.passages import passage

PRICE, WINNER = "What is the price of the race in 2025?", "Who won the race in 2023?"


@pytest.mark.parametrize(
    ("question", "year", "text"),
    [
        (WINNER, "2023", "Until 2024 the race was won by Anna."),
        (WINNER, "2023", "The race in 2022 and 2024 was won by Anna."),
        (WINNER, "2023", "Anna won the race."),
        ("Is the race of 2023 on video?", "2023", "The race is on video from 2024 on."),
        ("Can I carry leave over to 2026?", "2026", "Leave of 2025 must be taken by 31 March."),
        (PRICE, "2025", "The race 2024 costs 20 euros, and more every year."),
        (PRICE, "2025", "The price of the race has been 20 euros since 2024."),
        (PRICE, "2025", "The price of the race is 20 euros, paid at the gate. (c) 2019 Hut"),
        (PRICE, "2025", "The price of the race was raised to 20 euros in 2023."),
        (PRICE, "2025", "The price of the race was fixed in 2023: 20 euros, until further notice."),
        ("Does it run in Office 2019?", "Office 2019", "It runs in Office 2016 and newer."),
        ("What has changed since 2019?", "2019", "In 2021 the fee changed, in 2022 the hours."),
        ("Which machines were built after 2015?", "2015", "Machines 7 and 8 were built in 2018."),
        ("Which statutes were valid before 2020?", "2020", "The statutes of 2012 were valid."),
        ("What are the interim goals by 2030?", "2030", "The goal for 2027 is 20 %, for 2029 35 %."),
        ("By how much must emissions fall by 2030?", "2030", "Emissions must fall by 40 % compared with 2005."),
        ("Who is president in 2026?", "2026", "Weber was elected president in 2024 for four years."),
        ("How many members were there in 2018?", "2018", "Report 2019: in the previous year there were 412 members."),
        ("Wie hoch ist der Beitrag 2026?", "2026", "Der Beitrag wurde 2023 auf 60 Euro erhöht."),
        ("Quelle est la cotisation en 2026 ?", "2026", "La cotisation a été fixée à 60 euros en 2023."),
        ("Quanto è la quota nel 2026?", "2026", "La quota è stata aumentata a 60 euro nel 2023."),
        ("Quanto è a quota em 2026?", "2026", "A quota é de 60 euros desde 2023."),
        ("Hoe hoog is de contributie in 2026?", "2026", "De contributie is sinds 2023 60 euro."),
        ("¿Cuál es el objetivo para 2030?", "2030", "El objetivo es reducir un 40 % respecto a 1990."),
    ],
)
def test_texts_that_may_be_about_the_year(question: str, year: str, text: str) -> None:
    assert not is_about_other_years(question, text, [year])


@pytest.mark.parametrize(
    ("question", "year", "text"),
    [
        (PRICE, "2025", "The price of the race 2024 is 20 euros."),
        (PRICE, "2025", "The race on 12 March 2024 costs 20 euros, paid after the start."),
        (WINNER, "2023", "The race in 2022 was won by Anna."),
        (WINNER, "2023", "The race in 2024 was won by Anna."),
        ("How many visitors came in 2018?", "2018", "5,000 visitors came in 2021."),
        ("What was the rent in 2010?", "2010", "The rent was 700 euros in 2015."),
        ("Wie hoch ist der Beitrag 2026?", "2026", "Der Beitrag 2024 beträgt 55 Euro."),
        ("Quel est le prix du camp en 2027 ?", "2027", "Le prix du camp 2025 est de 180 euros."),
        ("Quanto è la quota nel 2026?", "2026", "La quota del 2024 è di 55 euro."),
        ("Qual é a quota em 2026?", "2026", "A quota de 2024 é de 55 euros."),
        ("Hoe hoog is de contributie in 2026?", "2026", "De contributie in 2024 is 55 euro."),
        ("¿Cuál es la cuota en 2026?", "2026", "La cuota de 2024 es de 55 euros."),
    ],
)
def test_texts_about_other_years(question: str, year: str, text: str) -> None:
    assert is_about_other_years(question, text, [year])


def test_what_another_passage_says_of_the_year_is_not_missing() -> None:
    assert not is_about_other_years(PRICE, "The price of the race 2024 is 20 euros.", [])


@pytest.mark.parametrize(
    ("question", "text", "title"),
    [
        (PRICE, "The race costs 20 euros.", "Prices of 2026"),
        (PRICE, "The price of the race 2024 is 20 euros.", ""),
        (PRICE, "Valid from 1 April 2026 to 31 March 2027\nThe race costs 20 euros.", "Prices 2026-27"),
        ("What does the race cost in 2030?", "Valid from 1 April 2026 to 31 March 2027: 20 euros.", "Prices 2026-27"),
        ("Quel était le prix en 2023 ?", "À payer avant le 31 janvier 2026 : 20 euros.", "Prix 2026"),
    ],
)
def test_a_year_that_only_other_passages_have_is_missing(question: str, text: str, title: str) -> None:
    assert is_about_other_years(question, text, [], passage(text, title=title))


def test_a_document_of_an_earlier_year_only_names_a_later_one() -> None:
    text, rest = "The race costs 20 euros.", "See the price list of 2025 for prices of that year."
    assert is_about_other_years(PRICE, text, [], passage(f"{text} {rest}", title="Prices 2024"))
    in_quote = "In 2025 the race costs 20 euros."
    assert not is_about_other_years(PRICE, in_quote, [], passage(in_quote, title="Minutes 2024"))


@pytest.mark.parametrize(
    ("question", "text", "title", "rest"),
    [
        (PRICE, "The race costs 20 euros.", "Prices", "Printed in 2024."),
        (PRICE, "The race costs 20 euros.", "Prices 2026", "In 2025 all prices were the same."),
        (PRICE, "The race costs 20 euros.", "Prices 2024 and 2025", ""),
        (PRICE, "The race has cost 20 euros since 2023.", "Prices 2023", ""),
        (PRICE, "Until 2026 the race costs 20 euros.", "", ""),
        ("We sent prices_2025.pdf. What does the race cost?", "The race costs 20 euros.", "Prices of 2026", ""),
        ("I joined in 2025. What does the race cost?", "The race costs 20 euros.", "Prices of 2026", ""),
        ("Does the race of 2025 cost anything?", "The race costs 20 euros.", "Prices of 2026", ""),
    ],
)
def test_a_year_of_the_document_is_not_missing(question: str, text: str, title: str, rest: str) -> None:
    assert not is_about_other_years(question, text, [], passage(f"{text} {rest}", title=title))


@pytest.mark.parametrize(
    ("question", "text", "expected"),
    [
        ("mean price in the season 2024-2025", "In the winter of 2023-2024 the mean price was 20 euros.", True),
        ("mean price in the season 2024/25", "Season 2025/2026: 20 euros", True),
        ("mean price in the season 2024/25", "Season 2024-2025: 20 euros. Season 2023-2024: 19 euros.", False),
        ("mean price in the season 2024/25", "From 2023/24 on every year 20 euros.", False),
        ("mean price in the season 2024/25", "Season 2025/26: 20 euros. The previous one: 18 euros.", False),
        ("mean price in the season 2024/25", "Season 2023/24: 20 euros. From May 2025 on: 22 euros.", False),
        ("mean price in 2024-2030", "In the winter of 2023-2024 it was 20 euros.", False),
        ("Is it open in 2024/25?", "It was open in 2023/24.", False),
    ],
)
def test_seasons_share_a_year(question: str, text: str, *, expected: bool) -> None:
    assert is_about_other_years(question, text, []) is expected


@pytest.mark.parametrize(
    ("question", "text", "year", "expected"),
    [
        ("What did the card cost in 2019?", "The card costs 20 euros.", "2019", True),
        ("How much was the fee in 2019?", "The fee is 20 euros.", "2019", True),
        ("Quel était le prix en 2019 ?", "Le prix est de 20 euros.", "2019", True),
        ("What did the card cost in 2019?", "The card costs 20 euros.", "", False),
        ("What did the card cost in 2019?", "The card has cost 20 euros since 2018.", "2019", False),
        ("What does the card cost in 2019?", "The card costs 20 euros.", "2019", False),
        ("Who ran the office in 2019?", "Ms Novak runs the office.", "2019", False),
    ],
)
def test_prices_of_today_are_not_those_of_a_past_year(question: str, text: str, year: str, *, expected: bool) -> None:
    assert is_about_other_years(question, text, [*filter(None, [year])]) is expected


@pytest.mark.parametrize(
    "part",
    [
        "how much was the ",
        "2024/25 ",
        "2024-",
        "20",
        "2024 ",
        "since 20",
        "since a ",
        "for a ",
        "set 2024 ",
        "\n",
        "auf ",
        "per ",
        "voor ",
    ],
)
def test_years_are_found_in_linear_time(part: str) -> None:
    def find(text: str) -> None:
        is_about_other_years("Who won in 2023?", text, ["2023"])
        is_about_other_years(text, "It was won in 2024.", ["2023"])
        is_about_other_years(text, text, [], passage("", title=text))

    assert takes_linear_time(find, lambda length, _: (part * length)[:length], 2_000)
