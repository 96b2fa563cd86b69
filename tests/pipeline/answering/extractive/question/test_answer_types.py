"""The type of answer that a question asks for."""

import pytest

from rag.pipeline.answering.extractive.question.answer_patterns import AnswerType
from rag.pipeline.answering.extractive.question.answer_types import (
    asks_for_amount,
    counted_words,
    counts_together,
    expected_answer_type,
    has_amount,
    has_answer_of_type,
    has_count,
)
from rag.text.markup.links import without_addresses
from tests.support.checks.growth import takes_linear_time


@pytest.mark.parametrize(
    ("question", "expected", "answer", "other"),
    [
        (
            "When are claims paid?",
            AnswerType.TIME,
            "Claims are paid on the 25th.",
            "A kilometre is paid with 0.30.",
        ),
        ("À quelle heure ferme le foyer ?", AnswerType.TIME, "Il est ouvert de 7h à 22h.", "Il faut 48h."),
        ("Where and when is it?", AnswerType.TIME, "In the barn, on 4 July.", "In the barn for 40 people."),
        ("Wo und wann ist Markt?", AnswerType.TIME, "Am Rathaus um 14 Uhr.", "Am Rathaus mit 40 Ständen."),
        ("Wann ist Markt?", AnswerType.TIME, "Jeden Dienstag auf dem Platz.", "Er hat 40 Stände."),
        ("An welchem Tag ist Markt?", AnswerType.TIME, "| Markt | Freitag |", "Er hat 40 Stände."),
        ("Bis wie viel Uhr ist Markt?", AnswerType.TIME, "Er endet um 14 Uhr.", "Er hat 40 Stände."),
        ("Quel jour est le marché ?", AnswerType.TIME, "Il est ouvert le lundi.", "Il a 40 stands."),
        ("¿Hasta qué hora pueden quedarse?", AnswerType.TIME, "Salen antes de las 22:00.", "Son 40 visitas."),
        ("¿Hasta cuándo está cerrado?", AnswerType.TIME, "Hasta el 20 de junio.", "Son 40 visitas."),
        ("A che ora chiude la rimessa?", AnswerType.TIME, "Apre alle 9 e chiude alle 17.", "Ha posto per 40 barche."),
        ("Entro quando si paga?", AnswerType.TIME, "Si paga entro il 1° maggio.", "Si pagano 40 euro."),
        ("Quali giorni è aperto il bar?", AnswerType.TIME, "Apre il venerdì.", "Ha 40 posti."),
        ("A que horas fecha a piscina?", AnswerType.TIME, "Fecha às 19h.", "Tem 40 lugares."),
        ("Até quando posso cancelar?", AnswerType.TIME, "Até 5 de maio.", "Custa 40 euros."),
        ("Em que dias abre?", AnswerType.TIME, "Abre à quinta-feira.", "Tem 40 lugares."),
        ("Hoe laat gaat de poort dicht?", AnswerType.TIME, "De poort sluit om 18 uur.", "De poort is 3 meter breed."),
        ("Tot wanneer kan ik opzeggen?", AnswerType.TIME, "Dat kan tot 1 maart.", "Dat kost 40 euro."),
        ("Wanneer is de open dag?", AnswerType.TIME, "Elke week op zaterdag.", "Er komen 40 gasten."),
        ("In che anno è nato?", AnswerType.YEAR, "È nato nel 1950.", "Ha 80 anni."),
        ("Em que ano nasceu?", AnswerType.YEAR, "Nasceu em 1950.", "Tem 80 anos."),
        ("In welk jaar is hij geboren?", AnswerType.YEAR, "Hij is in 1950 geboren.", "Hij is 80."),
        ("Quanto dura il corso?", AnswerType.DURATION, "Dura due settimane.", "Il corso costa 40 euro."),
        ("Quanto tempo demora?", AnswerType.DURATION, "Demora dez dias.", "Custa 40 euros."),
        ("Hoe lang duurt het?", AnswerType.DURATION, "Het duurt anderhalf jaar.", "Het kost 40 euro."),
        ("Quanto costa il corso?", AnswerType.PRICE, "Il corso costa sei euro.", "Il corso comincia alle 17.30."),
        ("Prezzo del kayak", AnswerType.PRICE, "- Kayak — 12,50", "Il kayak è lungo 3 metri."),
        ("Qual é o preço da aula?", AnswerType.PRICE, "A aula é gratuita.", "A aula dura 45 minutos."),
        ("Wat kost het hok?", AnswerType.PRICE, "Dat is gratis.", "Het hok gaat open om 14.30 uur."),
        ("Quante barche ci sono?", AnswerType.NUMBER, "Ce ne sono tre.", "Versione 3.2"),
        ("Quantas pessoas cabem?", AnswerType.NUMBER, "Cabem sessenta.", "No 1º maio é fechado."),
        ("Hoeveel leden zijn er?", AnswerType.NUMBER, "Er zijn twaalf leden.", "Op 3 mei 2024."),
        ("Quale versione serve?", AnswerType.VERSION, "Serve la 16 o successiva.", "Sono 3 passi."),
        ("Qual è il numero di telefono del bar?", AnswerType.PHONE_NUMBER, "Telefono: 112", "Il bar ha 40 posti."),
        ("Qual é o endereço de e-mail da escola?", AnswerType.EMAIL_ADDRESS, "a@b.example", "Na Rua Nova."),
        ("Wat is het telefoonnummer van de dokter?", AnswerType.PHONE_NUMBER, "Toestel 112", "Op 3 mei 2024."),
        ("How long is the warranty?", AnswerType.DURATION, "It is ninety days.", "It covers 200 parts."),
        ("What does a cup cost?", AnswerType.PRICE, "A cup is two euros.", "A cup holds 0.2 litres."),
        ("What does a cup cost?", AnswerType.PRICE, "A cup is EUR 2 incl. milk.", "A cup has 2 handles."),
        ("Combien coûte le café ?", AnswerType.PRICE, "Le café est à 3 €.", "Il y a 3 cafés."),
        ("Price of a cup", AnswerType.PRICE, "- Cup — small: 2.50", "A cup holds 2 litres."),
        ("Monthly fee for teachers", AnswerType.PRICE, "Teachers pay 20 euros.", "It is paid by 12 teachers."),
        ("Preis für eine Tasse", AnswerType.PRICE, "Eine Tasse kostet 2,50.", "Version 2.50.1 hat Tassen."),
        ("Preis für eine Tasse", AnswerType.PRICE, "Der Service kostet 1.234,50.", "Version 2.50.10 hat Tassen."),
        ("Was kostet eine Tasse?", AnswerType.PRICE, "Das macht 2,50.", "Tassen gibt es um 14.30 Uhr."),
        ("Gebühren für Gäste", AnswerType.PRICE, "Gäste zahlen 20 Euro.", "Sie gelten für 12 Gäste."),
        ("How many days does it take?", AnswerType.NUMBER, "It takes sixteen days.", "It takes long."),
        ("Wie lange gilt das?", AnswerType.DURATION, "Das gilt achtzehn Monate.", "Es gilt für 18 Personen."),
        ("How many keys are there?", AnswerType.NUMBER, "There are twelve keys.", "1. Take the key."),
        ("How many keys are there?", AnswerType.NUMBER, "12 keys.", "Policy on keys (version 3.2)"),
        ("How many keys are there?", AnswerType.NUMBER, "On 3 May 12 keys.", "Approved on 18 September 2024."),
        ("How many guests may come?", AnswerType.NUMBER, "Groups of 12 may come.", "Guests come on 12 May 2024."),
        ("How many guests may come?", AnswerType.NUMBER, "About 30 march in.", "Guests come on 3 March."),
        ("How many keys may I have?", AnswerType.NUMBER, "Keys are unlimited.", "Keys are limited."),
        ("How many keys are there?", AnswerType.NUMBER, "See [3 keys](a).", "See [keys](https://a.example/2_(3).pdf)."),
        ("How many keys are there?", AnswerType.NUMBER, "12 keys.", "They are on https://keys.example/12."),
        ("What is the fax number of the vet?", AnswerType.PHONE_NUMBER, "[Fax](tel:+4930123456)", "[Fax](fax.md)"),
        ("Wie viele Gäste dürfen kommen?", AnswerType.NUMBER, "Beliebig viele.", "Viele Gäste kommen."),
        (
            "Which version of Kettle is needed?",
            AnswerType.VERSION,
            "Install Kettle 2.24.",
            "Call it at 127.0.0.1:8000.",
        ),
        ("What Kettle version runs?", AnswerType.VERSION, "Kettle 16 or later.", "The newest one, in 3 steps."),
        ("What version of Windows is it?", AnswerType.VERSION, "| Windows | 10 |", "| Windows | 10 EUR |"),
        ("Welche Version brauche ich?", AnswerType.VERSION, "Kettle 16 oder neuer.", "Das kostet 4 Euro."),
    ],
)
def test_a_part_has_what_the_question_asks_for(question: str, expected: AnswerType, answer: str, other: str) -> None:
    assert expected_answer_type(question) is expected
    assert has_answer_of_type(answer, expected)
    assert not has_answer_of_type(other, expected)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("At what age may a calf be sold?", True),
        ("In which interval is the tank cleaned?", True),
        ("What is the default limit of the pump?", True),
        ("What's the temperature?", True),
        ("How loud is it?", True),
        ("In welchem Alter darf ein Kalb verkauft werden?", True),
        ("Quelle est la durée du trajet ?", True),
        ("¿Qué edad tiene?", True),
        ("Che sconto hanno gli studenti?", True),
        ("Qual è l'altezza del muro?", True),
        ("A partir de que idade posso nadar?", True),
        ("Vanaf welke leeftijd mag ik zwemmen?", True),
        ("Est-ce que la durée est fixe ?", False),
        ("¿Es verdad que la velocidad es fija?", False),
        ("How many calves are there?", False),  # a number is asked for in any case
        ("What is the name of the limit?", False),
        ("Which farm sells calves at that age?", False),
        ("Does the age count?", False),
        ("Which fee applies?", True),
        ("What is the file size limit?", True),
        ("What temperature should it have?", True),
        ("What is a healthy weight?", True),
        ("What is the discount code?", False),
        ("Which speed camera is used?", False),
        ("What are our core values?", False),
        ("What does the limit do?", False),
        ("What is the default value of the theme?", False),  # it may be a word
        ("What is a share?", False),
    ],
)
def test_questions_for_the_amount_of_something(question: str, expected: bool) -> None:
    assert asks_for_amount(question) is expected


def test_an_amount_may_be_in_words() -> None:
    assert has_amount("The deep end is four metres deep.")
    assert not has_amount("1. The depth was measured on 3 May 2024.")


@pytest.mark.parametrize("part", ["what ", "a", "what a ", "what the a-", "how ", "che ", "qual è ", "welke "])
def test_questions_for_amounts_are_found_in_linear_time(part: str) -> None:
    assert takes_linear_time(asks_for_amount, lambda length, _: (part * length)[:length], 500)


@pytest.mark.parametrize("kind", AnswerType)
@pytest.mark.parametrize("part", ["1", "1,", "1.,", ".", "two ", "1  ", " | 1", "alle 1", "due "])
def test_answers_are_found_in_linear_time(kind: AnswerType, part: str) -> None:
    """A row of 2,000 digits took 50 ms, for each part of a passage."""
    assert takes_linear_time(lambda text: has_answer_of_type(text, kind), lambda n, _: (part * n)[:n], 2_000)


@pytest.mark.parametrize(
    "question",
    [
        "How do I make tea?",
        "Per quanto riguarda il tè, chi lo prepara?",
        "Il bar che ora è chiuso, dov'è?",
        "Quant à la cuisine, qui prépare le thé ?",
        "Mag ik thee zetten?",
    ],
)
def test_other_questions_expect_nothing(question: str) -> None:
    assert expected_answer_type(question) is None


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("The rent is due every month.", AnswerType.NUMBER),
        ("The rent is due in euro.", AnswerType.PRICE),
        ("Sei bitte pünktlich, sagt Otto.", AnswerType.NUMBER),
        ("Alle 14 Kinder kommen.", AnswerType.TIME),
        ("Es geht um die Tage am Meer.", AnswerType.DURATION),
        ("Tiene una quinta y una segunda puerta.", AnswerType.TIME),
    ],
)
def test_a_word_of_one_language_is_no_answer_in_another(text: str, kind: AnswerType) -> None:
    assert not has_answer_of_type(text, kind)


@pytest.mark.parametrize(
    ("question", "text", "lang", "expected"),
    [
        ("How many keys do I get?", "The member receives three flat keys.", "en", True),
        ("How many keys do I get?", "Keys: 3", "en", True),
        ("How many keys do I get?", "There is no key for the cellar.", "en", True),
        ("How many keys are there?", "1.200 Keys are in the office.", "en", True),
        ("How many keys are there?", "Each key has a tag with numbers: two of them.", "en", False),
        ("How many keys are there?", "2.1 Each key has a tag.", "en", False),
        ("How many keys are there?", "In the office:\n2.1 Each key has a tag.", "en", False),
        ("How many flats are there?", "- Lapwing — beds: 2 — 36 EUR a night — a quiet flat", "en", False),
        (
            "How many flats are there?",
            "Flats are let to members. In a list each application has a date: 2024.",
            "en",
            False,
        ),
        ("Wie viele Schlüssel bekomme ich?", "Jeder erhält zwei Schlüssel.", "de", True),
        (
            "Wie viele Schlüssel bekomme ich?",
            "Das Büro öffnet um 9 Uhr und gibt abends auch Schlüssel aus.",
            "de",
            False,
        ),
        ("Combien de clés ?", "Aucune clé.", "fr", True),
        ("¿Cuántas llaves?", "Las llaves se recogen en la oficina central, calle Mayor 12.", "es", False),
        ("¿Cuántas parcelas hay?", "Cada parcela tiene una toma de agua.", "es", False),
        ("¿Cuántas parcelas hay?", "Parcelas: una. La toma es de agua.", "es", True),
        ("Quante chiavi ci sono?", "Ogni socio riceve due chiavi.", "it", True),
        ("Quante chiavi ci sono?", "Le chiavi si ritirano in segreteria.", "it", False),
        ("Quantas chaves há?", "Cada sócio recebe dez chaves.", "pt", True),
        ("Quantas chaves há?", "Cada sócio recebe uma chave.", "pt", True),
        ("Quantos convidados há?", "Cada sócio leva um convidado.", "pt", True),
        ("Wie viele Schlüssel gibt es?", "Es geht um Schlüssel.", "de", False),
        ("Quantas chaves há?", "As chaves levantam-se na receção.", "pt", False),
        ("Hoeveel sleutels krijg ik?", "Elk lid krijgt acht sleutels.", "nl", True),
        ("Hoeveel sleutels krijg ik?", "De sleutels hangen in de schuur.", "nl", False),
        ("Hoeveel kosten sleutels?", "De sleutels hangen in de schuur.", "nl", True),
        ("How many keys are due?", "Keys are due.", "en", False),
        ("How much is a key?", "The office has them.", "en", True),
        ("How many minutes may I be late?", "Up to 30 min.", "en", True),
        ("How many of the rooms are free?", "Four rooms.", "en", True),
        ("How many full time employees are there?", "There are 40 employees.", "en", True),
        ("Wieviele Tage Urlaub gibt es?", "Es sind 30 Arbeitstage.", "de", True),
        ("Where are the keys?", "In the office.", "en", True),
    ],
)
def test_a_count_is_near_what_is_counted(question: str, text: str, lang: str, expected: bool) -> None:
    assert has_count(text, question, lang) is expected


@pytest.mark.parametrize(
    ("question", "text", "lang", "expected"),
    [
        ("How many vacation days do I get?", "All have 20 days of vacation.", "en", True),
        ("How many vacation days do I get?", "Twenty-five vacation days are usual.", "en", True),
        ("How many vacation days do I get?", "Vacation rolls over, up to a bank of 27 days at any time.", "en", False),
        ("How many vacation days do I get?", "If you leave 37signals with vacation days", "en", False),
        ("Wie viele freie Tage habe ich?", "Es gibt 3 freie Tage.", "de", True),
        ("How many days are there?", "There are 20 days.", "en", False),
        ("How are vacation days taken?", "All have 20 vacation days.", "en", False),
    ],
)
def test_a_number_may_count_all_words_of_a_question(question: str, text: str, lang: str, expected: bool) -> None:
    assert counts_together(text, counted_words(question), lang) is expected


@pytest.mark.parametrize("part", ["](a", '](a"', "https://", "](("])
def test_addresses_are_left_out_in_linear_time(part: str) -> None:
    assert takes_linear_time(without_addresses, lambda size, _: (part * size)[:size], 10_000)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("instrument steward email", AnswerType.EMAIL_ADDRESS),
        ("travel shop phone", AnswerType.PHONE_NUMBER),
        ("password reset email", None),
        ("send documents by e-mail", None),
        ("Do you have a phone", None),
    ],
)
def test_a_contact_is_asked_for_without_a_verb(question: str, expected: AnswerType | None) -> None:
    assert expected_answer_type(question) is expected
