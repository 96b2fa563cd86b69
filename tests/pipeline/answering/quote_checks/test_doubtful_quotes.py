"""Which quotes have the words of a question, and may well not answer it."""

import pytest

from rag.pipeline.answering.quote_checks.doubtful_quotes import says_what_is_sought
from tests.support.checks.growth import takes_linear_time


def judge(question: str, text: str) -> bool:
    return says_what_is_sought(question, text, [text])


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Why was the trip cancelled?", "The trip was cancelled because of the storm."),
        ("Warum fiel die Reise aus?", "Die Reise fiel wegen des Sturms aus."),
        ("Who was elected chair?", "The meeting elected Anna Meyer."),
        ("Who won the race?", "- Anna — time: 12 minutes"),
        ("Who approves a trip?", "The team leader approves it."),
        ("Which services are being prepared?", "Two services are being prepared: Corvo and Lindpost."),
        ("How many services are being prepared?", "12 services are being prepared."),
        ("Are two services being prepared?", "Two services are being prepared."),
        ("warranty period in hotels", "In hotels, all periods are halved."),
        ("Where can I park?", "In front of the hall, you can park all day."),
        ("Is the warranty shorter?", "In hotels, all periods are halved."),
        ("warranty period", "The warranty lasts two years, in hotels one."),
    ],
)
def test_quotes_that_may_say_what_is_sought(question: str, text: str) -> None:
    assert judge(question, text)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Why was the trip cancelled?", "The money is left over from the cancelled trip."),
        ("¿Por qué se canceló el viaje?", "El viaje se canceló en mayo."),
        ("Who was elected chair?", "Dates: 18 June, general meeting with election of the chair."),
        ("Which two more services are being prepared?", "Labels can be printed. Two more services are being prepared."),
        ("warranty period", "In hotels and laundries, all periods are halved."),
    ],
)
def test_quotes_that_may_not(question: str, text: str) -> None:
    assert not judge(question, text)


@pytest.mark.parametrize("part", ["A", "a ", "Ab ", ". ", "\n- A", "In a ", "to ", "(", "1"])
def test_quotes_are_examined_in_linear_time(part: str) -> None:
    def examine(text: str) -> None:
        for question in ("Why was it done?", "Who was elected?", "Which of them is done?", "period"):
            judge(question, text)

    assert takes_linear_time(examine, lambda length, _: (part * length)[:length], 2_000)
