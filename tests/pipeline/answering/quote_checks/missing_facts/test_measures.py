"""Which quotes seem not to say how deep, far, hot or long something is, or when it is."""

import pytest

from rag.pipeline.answering.quote_checks.missing_facts.measures import may_lack_measure
from tests.support.checks.growth import takes_linear_time


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("How deep is the pond?", "The pond has 20 fish, and is cleaned in May."),
        ("What is the height of the tower?", "The tower was built in 1890."),
        ("How far is it to the station?", "The station has 4 platforms."),
        ("Wie groß ist die Reichweite der Autos?", "Die Autos kosten 20.000 Euro."),
        ("How warm is the pool?", "The pool is cleaned by 3 people."),
        ("How long does it take to charge a boat?", "Two chargers of 22 kW are built."),
        ("Wie lange dauert die Prüfung?", "Die Prüfung kostet 80 Euro."),
        ("Combien de temps dure la visite ?", "La visite coûte 9 euros."),
        ("When will the shelter be built?", "The shelter is on ground of the hospital, which must agree."),
        ("Wann wird das Dach gebaut?", "Das Dach hat 20 Quadratmeter."),
        ("¿Cuándo abre el bar?", "El bar tiene 20 mesas."),
    ],
)
def test_quotes_about_something_else_may_lack_it(question: str, text: str) -> None:
    assert may_lack_measure(question, text)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("How deep is the pond?", "The pond: 1.2 m"),
        ("How deep is the pond?", "4 ft of water are in the pond."),
        ("How far is it to the station?", "The station is next to the hall."),
        ("How far is it to the station?", "You walk for 5 minutes."),
        ("How far back do the figures go?", "The latest 400 figures are kept."),
        ("How warm is the pool?", "The pool has 24 °C."),
        ("How warm is the pool?", "The pool is unheated."),
        ("How long does the tour take?", "The tour takes two hours."),
        ("How long does the tour take?", "Tour 10:00 to 11:30"),
        ("How long may a name be?", "A name has at most 20 letters."),
        ("Wie lange dauert die Prüfung?", "Die Prüfung dauert bis mittags."),
        ("When will the shelter be built?", "The shelter is built once the hospital agrees."),
        ("When will the shelter be built?", "The shelter is planned for 2028."),
        ("When is the library open?", "Library: Sat 10, Sun closed"),
        ("When is the library open?", "Library: 10–14"),
        ("When does the library open?", "The library opens at 9."),
        ("When is the office closed?", "On public holidays."),
        ("Wann wird das Dach gebaut?", "Das Dach wird im Frühjahr gebaut."),
        ("Quand ouvre le bar ?", "Le bar ouvre chaque samedi."),
        ("¿Cuándo abre el bar?", "El bar abre todos los días."),
        ("When the pond is full, which fish are in it?", "There are carps."),
        ("Who is in the pond?", "Fish are in the pond."),
    ],
)
def test_measures_times_and_words_for_them_are_not_lacking(question: str, text: str) -> None:
    assert not may_lack_measure(question, text)


@pytest.mark.parametrize("part", ["how long does ", "1 ", "a ", "vor", "12", "1.", "how far ", "e-"])
def test_long_texts_take_linear_time(part: str) -> None:
    def text_of(length: int, attempt: int) -> str:
        return f"{attempt} " + part * (length // len(part))

    assert takes_linear_time(lambda text: may_lack_measure("When is it?", text), text_of, 40_000)
    assert takes_linear_time(lambda text: may_lack_measure(text, "It is."), text_of, 40_000)
