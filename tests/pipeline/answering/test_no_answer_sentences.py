"""In which language a question is declined."""

import dataclasses

import pytest

from rag.pipeline.answering.declined.no_answer_sentences import ENGLISH, sentences_for

QUESTIONS = {
    "Wer hat den Turm gebaut?": "In den Quellen wurde keine Antwort",
    "Qui a construit la tour ?": "Aucune réponse à cette question",
    "¿En qué año nació el autor?": "No se encontró ninguna respuesta",
    "Quanto costa l'affitto della sala?": "Nelle fonti non è stata trovata",
    "Chi ha costruito la torre?": "Nelle fonti non è stata trovata",
    "Quanto custa a entrada na piscina?": "Não foi encontrada nas fontes",
    "Quem construiu a torre?": "Não foi encontrada nas fontes",
    "Hoeveel kost de huur van het clubhuis?": "In de bronnen is geen antwoord",
    "Wie heeft de toren gebouwd?": "In de bronnen is geen antwoord",
    "Vem har byggt tornet i staden?": "No answer to this question",
    "Who built the tower?": "No answer to this question",
}


@pytest.mark.parametrize(("question", "beginning"), QUESTIONS.items())
def test_a_question_is_declined_in_its_language(question: str, beginning: str) -> None:
    assert sentences_for(question).no_answer.startswith(beginning)


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_sentences_of_a_language_take_the_same_values(question: str) -> None:
    for name, text in dataclasses.asdict(sentences_for(question)).items():
        assert text.count("{") == getattr(ENGLISH, name).count("{"), name
