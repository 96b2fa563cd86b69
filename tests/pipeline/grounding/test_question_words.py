"""Which words of a question an answer need not repeat."""

import pytest

from rag.pipeline.grounding.gaps import extract_query_parts, is_sought
from tests.support.checks.growth import takes_linear_time


@pytest.mark.parametrize(
    ("question", "lang", "sought"),
    [
        ("Was kostet die Miete der Halle?", "de", ["Miete", "Halle"]),
        ("Quanto costa l'affitto della sala?", "it", ["l'affitto", "sala"]),
        ("Dove si trova la sala grande?", "it", ["sala", "grande"]),
        ("Quanto custa o aluguer da sala?", "pt", ["aluguer", "sala"]),
        ("Onde fica a sala?", "pt", ["sala"]),
        ("Hoe lang duurt de huur van de zaal?", "nl", ["huur", "zaal"]),
        ("¿Qué hoteles hay en la costa de la isla grande?", "es", ["hoteles", "costa", "isla", "grande"]),
        ("Welcher Staat hat den Park?", "de", ["Staat", "Park"]),
    ],
)
def test_words_of_questions_are_not_sought(question: str, lang: str, sought: list[str]) -> None:
    parts = extract_query_parts(question, lang)
    assert [part.text for part in parts if is_sought(part, question)] == sought


def test_parts_are_compared_in_linear_time() -> None:
    def examine(text: str) -> None:
        for part in extract_query_parts(text, "it"):
            is_sought(part, text)

    assert takes_linear_time(examine, lambda length, _: ("costa " * length)[:length], 2_000)
