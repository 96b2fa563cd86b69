"""Which texts mention an office, and not who holds it."""

import pytest

from rag.pipeline.answering.quote_checks.missing_facts.persons import lacks_person, may_lack_person
from tests.support.checks.growth import takes_linear_time

OFFICER = "Who is the safety officer?"


@pytest.mark.parametrize(
    ("question", "text"),
    [
        (OFFICER, "They are checked twice a year by the safety officer."),
        (OFFICER, "The K 13 is checked by the safety officer in June."),
        (
            "Who was elected chair at the meeting in May?",
            "18 May: general meeting, with election of the chair\n5 June: party",
        ),
        ("Qui est le trésorier du club ?", "Le budget est contrôlé chaque année par le trésorier."),
        ("¿Quién es el tesorero?", "La cuenta la revisa el tesorero cada año."),
        ("Chi è il tesoriere?", "I conti li tiene il tesoriere."),
        ("Quem é o tesoureiro?", "As contas são vistas pelo tesoureiro todos os anos."),
        ("Wie is de voorzitter?", "Dit gaat altijd naar de voorzitter."),
    ],
)
def test_an_office_is_no_person(question: str, text: str) -> None:
    assert lacks_person(question, text)
    assert may_lack_person(question, text)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        (OFFICER, "They are checked by the safety officer, Ms Novak."),
        (OFFICER, "Safety officer: the eldest member"),
        (OFFICER, "| safety officer | the eldest member |"),
        (OFFICER, "The safety officer is the eldest member."),
        (OFFICER, "The eldest member acts as safety officer."),
        (OFFICER, "Novak checks the ropes."),
        (OFFICER, "The eldest member checks the ropes."),
        (OFFICER, "安全主任是王先生。 The safety officer checks the ropes."),
        ("Who is allowed to use the hall?", "The hall is used by the club."),
        ("Who pays the officer?", "The club pays the officer."),
        ("Wer ist der Kassenwart?", "Das prüft der Kassenwart."),
        ("Qui est le trésorier ?", "Le trésorier est le doyen du club."),
    ],
)
def test_names_and_other_offices_are_persons(question: str, text: str) -> None:
    assert not lacks_person(question, text)


def test_who_it_is_may_be_said_without_a_name() -> None:
    assert may_lack_person(OFFICER, "The eldest member checks the ropes.")
    assert not may_lack_person(OFFICER, "Novak checks the ropes; ask Erik.")
    assert not may_lack_person("Who pays the officer?", "The club does.")


@pytest.mark.parametrize("part", ["officer ", "who is the ", "A", "K 1", "as a ", "  "])
def test_long_texts_take_linear_time(part: str) -> None:
    def text_of(length: int, attempt: int) -> str:
        return f"{attempt} " + part * (length // len(part))

    assert takes_linear_time(lambda text: lacks_person(OFFICER, text), text_of, 40_000)
    assert takes_linear_time(lambda text: lacks_person(text, "The officer checks it."), text_of, 40_000)
