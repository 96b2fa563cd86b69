"""Which quotes surely have no time of day, or no weight."""

import pytest

from rag.pipeline.answering.quote_checks.missing_facts.times_and_weights import (
    lacks_time_or_weight,
    may_be_hours_of_other_thing,
)
from tests.support.checks.growth import takes_linear_time
from tests.support.passages import passage

TIME, WEIGHT = "At what time does the boat leave?", "How much does the drum weigh?"


@pytest.mark.parametrize(
    ("question", "text"),
    [
        (TIME, "The boat leaves from the north pier on 3 May 2026 and costs 12 euros."),
        (TIME, "The boat leaves on Saturdays."),
        ("Um wie viel Uhr fährt das Boot?", "Das Boot fährt am 3. Mai und kostet 12 Euro."),
        ("À quelle heure part le bateau ?", "Sortie en bateau — Date: 20 juin 2026 — Prix: 32 €"),
        ("¿A qué hora sale el barco?", "El barco sale del muelle norte."),
        ("A che ora parte la barca?", "La barca parte dal molo nord il 3 maggio."),
        ("A que horas sai o barco?", "O barco sai no sábado, 16 de maio."),
        ("Hoe laat vaart de boot?", "De boot vaart op zaterdag 3 mei."),
        ("Quanto pesa il tamburo?", "Il tamburo costa 40 euro."),
        ("Quanto pesa o tambor?", "O tambor custa 40 euros."),
        ("Hoeveel weegt de trommel?", "De trommel kost 40 euro."),
        ("Um wie viel Uhr fährt das Boot?", "Im Mai fahren alle 14 Kinder mit."),
        ("How much do the drums weigh?", "Drums on this level are for 12 children."),
        (WEIGHT, "Drum — Pieces: 1 — Fee per weekend: €85 — Remarks: van required"),
        ("What does the drum weigh?", "The plastic drum costs 400 euros."),
        ("How heavy is the drum?", "The drum is 40 cm high."),
        ("Wie schwer ist die Trommel?", "Die Trommel kostet 40 Euro."),
        ("Combien pèse le tambour ?", "Le tambour coûte 40 euros."),
    ],
)
def test_quotes_without_what_is_asked_for(question: str, text: str) -> None:
    assert lacks_time_or_weight(question, text)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        (TIME, "The boat leaves at 9."),
        (TIME, "The boat leaves at 9.30, and costs 12 euros."),
        (TIME, "Boat: 9-12, 2-5"),
        (TIME, "The boat leaves at dusk."),
        (TIME, "The boat leaves an hour after the ferry."),
        (TIME, "The boat does not leave on days when the pier is closed."),
        ("Um wie viel Uhr fährt das Boot?", "Das Boot fährt um 9 Uhr."),
        ("À quelle heure part le bateau ?", "Départ : 16 h 15"),
        ("¿A qué hora sale el barco?", "El barco sale a las 9."),
        ("A che ora parte la barca?", "La barca parte alle 9."),
        ("A que horas sai o barco?", "O barco sai às 9."),
        ("Hoe laat vaart de boot?", "De boot vaart om 9 uur."),
        ("Quanto pesa il tamburo?", "Il tamburo è di 12 chili."),
        ("Quanto pesa o tambor?", "O tambor tem 12 quilos."),
        ("Hoe zwaar is de trommel?", "De trommel is te zwaar voor een kind."),
        ("What time frame is covered?", "The years of war."),
        ("When does the boat leave?", "The boat leaves on Saturdays."),
        ("The boat leaves at 9. What does it cost?", "It costs 12 euros."),
        (WEIGHT, "Drum — Weight: 12 kg"),
        (WEIGHT, "The drum weighs as much as a child."),
        (WEIGHT, "The drum is too heavy for one person."),
        ("Wie schwer ist die Trommel?", "Die Trommel hat 12 Kilogramm."),
        ("How much does the drum cost?", "The drum costs 400 euros."),
    ],
)
def test_quotes_that_may_have_it(question: str, text: str) -> None:
    assert not lacks_time_or_weight(question, text)


@pytest.mark.parametrize(
    ("question", "text", "lang", "expected"),
    [
        ("What time does the sauna close?", "The pool closes at 8 pm.", "en", True),
        ("sauna opening hours", "Pool: 8 to 18", "en", True),
        ("Um wie viel Uhr wird die Tonne geleert?", "Der Hof öffnet um 8 Uhr.", "de", True),
        ("À quelle heure ferme le sauna ?", "La piscine ferme à 20 heures.", "fr", True),
        ("¿A qué hora cierra la sauna?", "La piscina cierra a las 20 horas.", "es", True),
        ("What time does the pool close?", "The pool closes at 8 pm.", "en", False),
        ("When does the sauna close?", "The pool closes at 8 pm.", "en", False),
        ("For what time does the sauna keep warm?", "An hour at most.", "en", False),
        ("My mother comes. What time does the sauna close?", "The pool closes at 8 pm.", "en", False),
        ("What does the sauna have?", "Pool: 8 to 18", "en", False),
    ],
)
def test_hours_of_a_thing_that_the_passage_lacks(question: str, text: str, lang: str, *, expected: bool) -> None:
    assert may_be_hours_of_other_thing(question, text, passage(text, lang=lang)) is expected


@pytest.mark.parametrize(
    "part", ["what time ", "how much does ", "12 ", "12 - ", "at ", "1", "h", "a", "alle ", "alle 1", "dopo le "]
)
def test_they_are_found_in_linear_time(part: str) -> None:
    boat = passage("The boat leaves at 9.")

    def find(text: str) -> None:
        lacks_time_or_weight(text, "")
        lacks_time_or_weight(f"{TIME} {WEIGHT}", text)
        may_be_hours_of_other_thing(text, text, boat)

    assert takes_linear_time(find, lambda length, _: (part * length)[:length], 2_000)
