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
    "Kto zbudował tę wieżę?": "W źródłach nie znaleziono",
    "Bu kuleyi kim yaptı?": "Kaynaklarda bu sorunun",
    "Кто построил башню?": "В источниках не найден",
    "من بنى هذا البرج؟": "لم يُعثر في المصادر",
    "这座塔是谁建的？": "在资料中没有找到",
    "2019年にこの塔を建てたのは誰ですか。": "この質問への答えは",
    "이 탑은 누가 지었습니까?": "자료에서 이 질문에",
    "ใครสร้างหอคอยนี้": "ไม่พบคำตอบ",
    "Vem har byggt tornet i staden?": "No answer to this question",
    "Who built the tower?": "No answer to this question",
}


@pytest.mark.parametrize(("question", "beginning"), QUESTIONS.items())
def test_a_question_is_declined_in_its_language(question: str, beginning: str) -> None:
    assert sentences_for(question).no_answer.startswith(beginning)


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_sentences_of_a_language_take_the_same_values(question: str) -> None:
    for name, text in dataclasses.asdict(sentences_for(question)).items():
        assert text.strip() or name == "space"
        assert text.count("{") == getattr(ENGLISH, name).count("{"), name
