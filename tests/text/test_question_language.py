"""Which questions count as English."""

import pytest

from rag.text.question_language import (
    foreign_function_words,
    has_foreign_words,
    is_english,
    name_language,
)


@pytest.mark.parametrize(
    "question",
    [
        "How long is the notice period?", "notice period", "Kubernetes", "vector_index_build", "", "42?",
        "Who wrote Die Zeit in Paris?", "error code ECONNRESET", "n8n webhook", "e-mail address", "annual pass",
        "lost key price", "reset password", "pump noise dB", "zebra",
        "Kubernetes 1.29", "Kubernetes ?", "GDPR DPO", "IEC 61131-3", "Django admin", "Yamaha piano",
        "Volkswagen warranty", "MIT license", "Los Angeles office", "bin collection", "die casting", "no refunds",
        "USB-C dock", "vitamin C", "C# async", "Yuan dynasty's official name",
    ],
)  # fmt: skip
def test_english_and_unclear_questions(question: str) -> None:
    assert is_english(question)


@pytest.mark.parametrize(
    "question",
    [
        "Wie lang ist die Kündigungsfrist?", "Welche Temperatur braucht der Kühlraum?", "Kündigungsfrist Vertrag",
        "¿Cuánto dura el plazo de preaviso?", "¿Quién paga el viaje?", "Quelle est la durée du préavis ?",
        "Qui paie le voyage ?", "tarif piscine enfant", "carte annuelle prix", "horaires sauna", "Passwort ändern",
        "Drucker Störung", "gastos envío Canarias", "gastos de envio Canarias", "Hund abmelden wie", "prix du billet",
        "WO IST DER EINGANG", "precio entrada niños", "vacaciones",
        "2025年秋季展览在哪里举行？", "10月は何時に閉まりますか。", "Wi-Fi的密码是什么？",
        "通知期有多长？", "كم مدة فترة الإشعار؟", "Кто оплачивает поездку?", "休暇は何日ですか",
    ],
)  # fmt: skip
def test_questions_in_other_languages(question: str) -> None:
    assert not is_english(question)


def test_only_what_is_surely_foreign_needs_vectors_of_the_second_model() -> None:
    for question in ("Wie melde ich meinen Hund an?", "gastos de envio Canarias", "prix du billet", "통화 이력"):
        assert has_foreign_words(question)
    for question in ("end date", "MIT license", "La Salle college fees", "tarif piscine enfant", "Kubernetes", ""):
        assert not has_foreign_words(question)


def test_function_words_of_a_clear_foreign_question() -> None:
    assert {"de", "la"} <= foreign_function_words("¿Cuántas personas de la ciudad sobrevivieron?")
    assert {"der", "in"} <= foreign_function_words("Wozu dient der Vorhang in der Oper?")
    assert foreign_function_words("Wer darf Dokumente senden?") >= {"wer", "darf"}
    assert foreign_function_words("Que dois-je faire pour le voyage ?") >= {"dois", "que"}
    assert {"كم", "في"} <= foreign_function_words("كم راتب موظف الاستقبال في الشهر؟")
    for question in ("Who was the owner of the villa de la Cruz?", "std io", "die cast", "zebra 17", ""):
        assert foreign_function_words(question) == frozenset()


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Wer hat das gebaut?", "german"), ("Qui paie le voyage ?", "french"), ("¿Quién paga el viaje?", "spanish"),
        ("Qui dirige le centre ?", "french"), ("gastos envío Canarias", "spanish"), ("Wartung Kosten", "german"),
        ("föräldraledighet", "swedish"), ("Ανανέωση διαβατηρίου", "greek"), ("szabadság napok", "hungarian"),
        ("Кто оплачивает поездку?", "russian"), ("Who pays?", "english"), ("", ""),
        ("休暇は何日ですか", "japanese"), ("鍵 再発行 手数料", "japanese"), ("年卡多少钱？", "chinese"),
        ("通知期 多長", "chinese"), ("2025年展览在哪里？", "chinese"), ("주차 요금은 얼마입니까?", "korean"),
        ("ที่จอดรถ ราคา", "thai"),
        ("скидка студентам", "russian"), ("متى يصل البريد؟", "arabic"),
    ],
)  # fmt: skip
def test_the_name_of_a_language(question: str, expected: str) -> None:
    assert name_language(question) == expected
