"""In which language a question is declined."""

import dataclasses

import pytest

from rag.pipeline.answering.declined.declined_answers import NOT_GROUNDED, say_no_answer
from rag.pipeline.answering.declined.no_answer_sentences import ENGLISH, sentences_for
from rag.types import Grounding

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


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("这座塔是谁建的？", "在资料中没有找到这个问题的答案。找到的段落没有提到：塔、人。最接近的段落"),
        ("この塔を建てたのは誰ですか。", "ませんでした。見つかった箇所には次の語がありません：塔、人。最も近い箇所"),
        ("من بنى هذا البرج؟", "عن هذا السؤال. لا تذكر المقاطع التي عُثر عليها: 塔، 人. أقرب مقطع"),
        ("Wer hat den Turm gebaut?", "gefunden. Die gefundenen Textstellen erwähnen nicht: 塔, 人. Am nächsten"),
    ],
)
def test_sentences_are_joined_as_their_language_is_written(question: str, expected: str) -> None:
    closest = sentences_for(question).closest.format(where="x")
    grounding = Grounding(is_groundable=False, score=0.2, relevant=(), gaps=("塔", "人"))
    assert expected in say_no_answer(question, grounding, NOT_GROUNDED, closest=closest).text


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_sentences_of_a_language_take_the_same_values(question: str) -> None:
    for name, text in dataclasses.asdict(sentences_for(question)).items():
        assert text.strip() or name == "space"
        assert text.count("{") == getattr(ENGLISH, name).count("{"), name
