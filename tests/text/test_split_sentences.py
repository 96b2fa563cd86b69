"""Sentences end at the marks of each script."""

import pytest

from rag.text.sentences.dependent_sentences import depends_on_predecessor, needs_question
from rag.text.sentences.split_sentences import split_sentences


@pytest.mark.parametrize(
    "sentences",
    [["Is it open?", "Yes."], ["متى يفتح المكتب؟", "يفتح في التاسعة."], ["何时开门？", "九点。"], ["حقا؟!", "نعم."]],
)
def test_sentences_end_at_the_marks_of_their_script(sentences: list[str]) -> None:
    assert split_sentences(" ".join(sentences)) == sentences


@pytest.mark.parametrize(
    ("sentence", "lang", "expected"),
    [
        ("However, it is closed.", "en", True),
        ("Dadurch wird es warm.", "de", True),
        ("Tuttavia resta chiusa.", "it", True),
        ("La sala resta chiusa.", "it", False),
        ("Depois fecha.", "pt", True),
        ("A sala fecha.", "pt", False),
        ("Daarna gaat de poort dicht.", "nl", True),
        ("Het clubhuis is elke dag open.", "nl", False),
        ("Die Tagung beginnt um neun.", "de", False),
        ("Die tuin wordt leeg opgeleverd.", "nl", True),
        ("Он готов через три рабочих дня.", "ru", True),
        ("Оплата возможна картой.", "ru", False),
        ("ولكن القاعة مغلقة.", "ar", True),
        ("ただし、病気のときは返還する。", "ja", True),
        ("该次课时照常扣除。", "zh", True),
        ("那里路十八号", "zh", False),
    ],
)
def test_words_that_refer_back(sentence: str, lang: str, expected: bool) -> None:
    assert depends_on_predecessor(sentence, lang) is expected


@pytest.mark.parametrize(
    ("sentence", "lang", "expected"),
    [
        ("Sì, ma i cani restano fuori dalla sala grande.", "it", True),
        ("Apenas com uma autorização assinada por ambos os pais.", "pt", True),
        ("Alleen met een bewijs dat door het bestuur is getekend.", "nl", True),
        ("Il bar apre il sabato e la domenica alle undici.", "it", False),
        ("Да, запишитесь на сайте не позднее чем за день.", "ru", True),
        ("Запишитесь на сайте не позднее чем за день до занятия.", "ru", False),
        ("可以。", "zh", True),
        ("はい、北門の前に十八台分の駐車場があります。", "ja", True),
        ("停车可以在地下车库，凭前台印章免费停两小时。", "zh", False),
        ("Mai und Juni sind die besten Monate für eine Reise.", "de", False),
    ],
)
def test_answers_that_need_their_question(sentence: str, lang: str, expected: bool) -> None:
    assert needs_question(sentence, lang) is expected
