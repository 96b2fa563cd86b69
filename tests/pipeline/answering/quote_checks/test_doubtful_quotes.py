"""Which quotes have the words of a question, and may well not answer it."""

import pytest

from rag.pipeline.answering.quote_checks.doubtful_quotes import says_what_is_sought
from tests.support.checks.growth import takes_linear_time


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Why was the trip cancelled?", "The trip was cancelled because of the storm."),
        ("Warum fiel die Reise aus?", "Die Reise fiel wegen des Sturms aus."),
        ("Why was the trip cancelled?", "Too few people came."),
        ("Why is there no music?", "The hall was flooded."),
        ("Why can't I log in?", "Your account is locked after five wrong passwords."),
        ("Warum wurde das Fest verschoben?", "Infolge des Sturms wurde das Fest verschoben."),
        ("Perché la gita è annullata?", "La gita è annullata a causa del temporale, dato che piove."),
        ("Porque foi cancelada a viagem?", "A viagem foi cancelada devido à chuva."),
        ("Waarom gaat de reis niet door?", "De reis gaat niet door omdat het stormt."),
        ("Who was elected chair?", "The former treasurer was elected chair of the club."),
        ("Which services are being prepared?", "Two services are being prepared: Corvo and Lindpost."),
        ("How many services are being prepared?", "12 services are being prepared."),
        ("Are two services being prepared?", "Two services are being prepared."),
        ("How do I export data?", "To export the data:\n- open the menu\n- choose Export"),
        ("What is the leave policy?", "The leave policy\nEmployees have 30 days."),
    ],
)
def test_quotes_that_may_say_what_is_sought(question: str, text: str) -> None:
    assert says_what_is_sought(question, text)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Why was the trip cancelled?", "The money is left over from the cancelled trip."),
        ("¿Por qué se canceló el viaje?", "El viaje se canceló en mayo."),
        ("Perché la gita è annullata?", "La gita di maggio è annullata."),
        ("Porque foi cancelada a viagem?", "A viagem foi cancelada em maio."),
        ("Waarom is de reis geannuleerd?", "De reis is in mei geannuleerd."),
        ("Why is the pool closed?", "The pool is closed on Monday."),
        ("Which two more services are being prepared?", "Labels can be printed. Two more services are being prepared."),
    ],
)
def test_quotes_that_may_not(question: str, text: str) -> None:
    assert not says_what_is_sought(question, text)


@pytest.mark.parametrize("part", ["A", "a ", "Ab ", ". ", "\n- A", "grund", "to ", "(", "1", "om ", "om a "])
def test_quotes_are_examined_in_linear_time(part: str) -> None:
    def examine(text: str) -> None:
        for question in ("Why was it done?", "Which of them is done?"):
            says_what_is_sought(question, text)

    assert takes_linear_time(examine, lambda length, _: (part * length)[:length], 2_000)
