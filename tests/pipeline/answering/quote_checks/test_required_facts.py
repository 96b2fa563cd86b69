"""Which quotes lack what every answer to a question has."""

import pytest

from rag.pipeline.answering.extractive.extract import EXTRACTIVE_MODEL, extract_quotes
from rag.pipeline.answering.generate import PreparedGeneration
from rag.pipeline.answering.quote_checks.required_facts import has_required_facts
from tests.support.checks.growth import takes_linear_time
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
        (PHONE, "The vet: 04.68.39.01.12"),
        (PHONE, "The vet: 1-800-FLOWERS"),
        (PHONE, "Call the vet on 4711."),
        (PHONE, "Ring 14 for the vet."),
        ("Numéro de téléphone du vétérinaire", "Le vétérinaire : poste 14"),
        ("telephone number of the vet", "The vet can be called: 0664/1234567."),
        ("Which number do I call at night?", "At night you call 112."),
        ("Wie lautet die Notrufnummer?", "Notruf: 112"),
        ("Quel est le numéro de téléphone du vétérinaire ?", "Le vétérinaire répond au 04 68 39 01 12."),
        ("What is the phone number used for?", "Messages are sent there."),
        ("hide phone number", "Open the page of your account."),
        ("register phone number", "Open the page of your account."),
        ("Telefonnummer der Mitarbeiter ändern", "Im Profil auf Ändern klicken."),
        ("What is a telephone interview?", "It takes place before the first meeting."),
        (ADDRESS, "The vet reads vet@hut.example every day."),
        (ADDRESS, "The vet reads what you send at https://hut.example/vet."),
        ("E-mail address of the vet", "The vet reads vet (at) hut.example every day."),
        ("vet e-mail address", "The vet reads vet@hut.example every day."),
        ("vet email", "The vet reads vet@hut.example every day."),
        ("vet email", "Open the page of your account."),
        ("change e-mail address", "Open the page of your account, and choose Change."),
        ("Who sees my phone number?", "Your phone number is seen by the porter."),
        ("How do I change my e-mail address?", "Open the page of your account, and choose Change."),
        ("What is the format of a phone number?", "A phone number begins with a plus sign."),
        ("What happens if I change my phone number?", "A message is sent to the old one."),
        (PRICE, "A night in the hut costs 20 euros."),
        (PRICE, "A night in the hut costs CHF 45, or 45.-"),
        (PRICE, "A night in the hut is free of charge."),
        (PRICE, "A night in the hut is 45 per person."),
        (PRICE, "A night in the hut costs forty-five."),
        (PRICE, "A night in the hut costs from 1950 per person."),
        (PRICE, "The price of a night in the hut depends on the season."),
        (PRICE, "| hut | price |\n| --- | --- |\n| one night in the hut | 12.50 |"),
        ("What is the fee for a late night?", "There is no late fee."),
        ("How high is the fee for a late night?", "The fee for a late night is 20 per cent."),
        ("What is the cost center for nights?", "It is chosen by the porter."),
        ("Was kostet eine Nacht?", "Eine Nacht ist im Beitrag inbegriffen."),
        ("Was kostet eine Nacht?", "Für eine Nacht wird nichts berechnet."),
        ("Combien coûte une nuit ?", "La nuit est offerte aux membres."),
        ("¿Cuánto cuesta una noche?", "La noche no tiene coste."),
        ("In which year was the hut built?", "The hut was built in 1887."),
        ("In which year was the hut built?", "The hut was built in the 13th century."),
        ("In which year was the hut built?", "The hut was built two years ago."),
        ("In welchem Jahr wurde die Hütte gebaut?", "Die Hütte wurde am 03.05.1987 gebaut."),
        (COUNT, "Each member receives three keys."),
        (COUNT, "Everybody who comes receives several."),
        (COUNT, "The porter gives out an unlimited number."),
        ("How many people work here?", "The company has 250 employees."),
        ("How many members are on the board?", "The board has a chair, a treasurer and a secretary."),
        ("How many nights may I stay?", "You may stay a week."),
        ("Which version of the oven runs here?", "The oven runs with 2.4."),
        ("Which version of the oven runs here?", "Call oven --version."),
        ("Which version of the song is shorter?", "The song of the choir is the short edition."),
        ("Welche Version läuft hier?", "Hier läuft immer die neueste."),
    ],
)  # fmt: skip
def test_quotes_that_may_be_the_answer(question: str, text: str) -> None:
    assert has_facts(question, text)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        (PHONE, "The vet has a phone number, which is on the door since 11.05.2024, from 10:00 to 12:30."),
        ("telephone number of the vet", "If the dog falls ill, we call the vet, and the bill is yours."),
        ("Wie lautet die Telefonnummer der Tierärztin?", "Die Tierärztin kommt am 3. Mai um 10.30 Uhr."),
        (PHONE, "The vet comes for 6.90 euros, from 75 kg on, and by 2 per cent earlier with 12 dogs."),
        (ADDRESS, "The vet's e-mail address is on the door."),
        ("Wie lautet die E-Mail-Adresse der Tierärztin?", "Die Adresse steht an der Tür."),
        (PRICE, "A night in the hut has breakfast at 07:30, and 800 m of stairs before it."),
        (PRICE, "A night in the hut is booked by 20 per cent of all guests."),
        ("Was kostet eine Nacht?", "Eine Nacht in der Hütte beginnt um 18.30 Uhr und endet am 12.05.2024."),
        ("Was kostet eine Nacht?", "Ab 2026 beginnt eine Nacht in der Hütte am Abend."),
        (COUNT, "Keys are given out in the office by the porter."),
        ("In which year was the hut built?", "The hut was built in spring, by 12 people."),
        ("Which version of the oven is the oldest that works here?", "The oven is warm when it works here."),
    ],
)
def test_quotes_that_lack_what_the_question_asks_for(question: str, text: str) -> None:
    assert not has_facts(question, text)


@pytest.mark.parametrize(
    ("lang", "question", "text", "expected"),
    [
        ("it", "Quanto costa la sauna?", "La sauna si accende il venerdì dalle 17 alle 18.30.", False),
        ("it", "Quanto costa la sauna?", "La sauna costa 12,50.", True),
        ("it", "Quanto costa la sauna?", "La sauna è compresa nella quota.", True),
        ("it", "Quante chiavi ricevo?", "Le chiavi si ritirano in segreteria a giugno.", False),
        ("it", "Quanti posti ci sono?", "In sala ci sono sei sedie.", True),
        ("it", "Qual è l'indirizzo e-mail della scuola?", "La scuola è in via Nuova.", False),
        ("pt", "Quanto custa a sauna?", "A sauna liga-se às quintas-feiras às 17h.", False),
        ("pt", "Quanto custa a sauna?", "A sauna é gratuita.", True),
        ("pt", "Quantas chaves recebo?", "As chaves levantam-se na receção em junho.", False),
        ("pt", "Quantos lugares há?", "Na sala cabem dez pessoas.", True),
        ("pt", "A que horas começa o torneio?", "O torneio realiza-se no sábado, 16 de maio.", False),
        ("nl", "Wat kost de soep?", "De soep is er op zondag vanaf 12 uur.", False),
        ("nl", "Wat kost de soep?", "De soep is inbegrepen.", True),
        ("nl", "Hoeveel sleutels krijg ik?", "De sleutels hangen in een schuur.", False),
        ("nl", "Hoeveel sleutels krijg ik?", "Elk lid krijgt beide sleutels.", True),
        ("nl", "Wat is het telefoonnummer van de dokter?", "De dokter woont op de hoek.", False),
        ("ru", "Сколько получает инструктор?", "Инструктор работает до 18:00.", False),
        ("ru", "Сколько стоит шлем?", "Шлем стоит триста рублей.", True),
        ("zh", "半年卡多少钱？", "年卡可以暂停一次。", False),
        ("ja", "シャワーはいくらですか。", "シャワーは無料です。", True),
    ],
)
def test_facts_in_other_languages(lang: str, question: str, text: str, expected: bool) -> None:
    assert has_facts(question, text, lang=lang) is expected


@pytest.mark.parametrize(
    ("question", "text", "gap", "expected"),
    [
        ("price of the race 2025", "The price of the race 2024 is 20 euros.", "2025", False),
        ("price of the race 2025", "The price of the race 2024 is 20 euros.", "", False),
        ("When does the season 2026 begin?", "The season begins in November 2025.", "2026", True),
        ("How do I reset the AV-16?", "The AV-12 is reset with the red key.", "", False),
        ("How do I reset the AV-16?", "## AV-12\n\nThe device is reset with the red key.", "", False),
        ("Can the AV-16 be reset?", "The AV-12 is reset with the red key.", "", True),
        ("Which company cleans the hut?", "The hut is cleaned by a company on Monday.", "", False),
        ("Who is the hut officer?", "It is cleaned by the hut officer on Monday.", "", False),
        ("maximum load of the LS 8", "The LS 4 has a maximum load of 110 kg.", "", False),
        ("maximum load of the LS 8", "The LS 8 has a maximum load of 110 kg.", "", True),
        ("Which company cleans the hut?", "## Contract with Miller\n\nThe company cleans the hut on Monday.", "", True),
    ],
)
def test_quotes_about_other_years_and_codes_and_without_a_name(
    question: str, text: str, gap: str, expected: bool
) -> None:
    assert has_facts(question, text, *filter(None, [gap])) is expected


def test_when_something_was_in_a_year_is_not_told_by_that_of_another_one() -> None:
    question, text = "2024年の収穫祭はいつですか。", "収穫祭は11月14日に開催する。"
    assert not has_facts(question, text, "2024", lang="ja", path="gijiroku-2026-05.md")
    assert has_facts(question, text, "2024", lang="ja", path="gijiroku.md")


@pytest.mark.parametrize("question", [PRICE, COUNT])
def test_prices_and_counts_are_not_required_in_languages_that_are_not_known(question: str) -> None:
    assert has_facts(question, "Noc w domku jest opłacana z góry, klucze są u dozorcy.", lang="pl")


def test_nothing_is_counted_in_another_language() -> None:
    assert has_facts(COUNT, "Am Tor stehen Schlüssel bereit.", lang="de")
    assert not has_facts(COUNT, "Keys are at the gate.", lang="en")


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
        ("The Westgate P & R has 420 spaces.", "Westgate Park and Ride", True),
        ("Python 3.10 or later is needed.", "Python 3.12", True),
        ("It needs at least Python 3.10.", "Python 3.12", True),
        ("Room 10 to 14 are upstairs.", "Room 12", True),
        ("Rooms 10-14 are upstairs. Room 10 has a sink.", "Room 12", True),
        ("The hut is closed from 23 December to 2 January.", "24 December", True),
        ("The Customer Center is open.", "Customer Centre", True),
        ("The Mueller Hall is in the south.", "Müller Hall", True),
        ("Sales Anna Meyer leads the department.", "Sales Team", True),
        ("The Annual Members Meeting is on Sunday.", "Annual General Meeting", True),
        ("The hut is open.", "late opening", True),
        ("Anna has the keys.", "Ben", True),
    ],
)
def test_quotes_about_a_thing_of_a_similar_name_are_no_answer(text: str, gap: str, expected: bool) -> None:
    assert has_facts("What is it?", text, gap) is expected


@pytest.mark.parametrize(
    "part",
    [
        "2024-",
        "20",
        "1 ",
        "(0",
        "call ",
        "a@",
        "2024/25 ",
        "from a ",
        "since 20",
        "Tarn ",
        "2 %",
        "2.",
        "A-",
        "A1 ",
        "A1 to ",
    ],
)
def test_facts_are_found_in_linear_time(part: str) -> None:
    cited = extract_quotes(PHONE, [passage("The vet came in 2024.")])[0].citations

    def find(text: str) -> None:
        generation = PreparedGeneration(EXTRACTIVE_MODEL, iter(()), quotes=cited, quoted_text=text)
        for question in (
            PHONE,
            ADDRESS,
            PRICE,
            "Who won race A3 in 2023?",
            "Which company is it?",
            "In which year was it won?",
        ):
            has_required_facts(question, generation, ["Tarn 7", "Park and Tarn", "2023"])

    assert takes_linear_time(find, lambda length, _: (part * length)[:length], 2_000)
