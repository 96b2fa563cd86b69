"""Answers from an FAQ whose lines are labelled: `Q: …` above `A: …`."""

import re

import pytest

from rag.text.markup.titles.faq_questions import find_question_lines
from tests.support.passages import answer, passage

FAQ = """\
Q: Do dogs pay for a crossing?
A: Dogs travel free of charge.

Q: May I bring my bicycle?
A: Bicycles are parked on the lower deck.

Q: Where is the café?
A: R. Miller runs it on the upper deck.
"""


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Do dogs pay?", "Dogs travel free of charge. [1]"),
        ("May I bring a bicycle?", "Bicycles are parked on the lower deck. [1]"),
        ("Where is the café?", "R. Miller runs it on the upper deck. [1]"),
    ],
)
def test_the_answer_is_quoted_without_the_question_and_labels(question: str, expected: str) -> None:
    assert answer(question, passage(FAQ)) == expected
    french = passage(FAQ.replace("Q:", "**Question 1 :**").replace("A:", "Réponse :"))
    assert answer(question, french) == expected
    unlabelled = passage(FAQ.replace("Q: ", "").replace("A: ", ""))
    assert answer(question, unlabelled) == expected


@pytest.mark.parametrize(
    ("text", "question", "expected"),
    [
        ("Which deck is open?\n\nA: the upper deck, where the café is.", "Where is the café?", "A: the upper deck"),
        ("The <b>decks</b> are open.\n\nA: the upper deck has the café.", "Where is the café?", "A: the upper deck"),
        ("Press <kbd>Ctrl</kbd>.\n\nR. Miller runs the café.", "Who runs the café?", "R. Miller runs the café."),
        ("Q: Who runs the café?\nR. Miller runs the café on deck.", "Who runs the café?", "R. Miller runs the café"),
        ("D: The roof is repaired in May.\nA: Anna asks three firms.", "When is the roof repaired?", "in May"),
        ("P: 40 hours are needed for the licence.\nR: Rescue boats.", "How many hours for the licence?", "40 hours"),
        ("*** The pool is closed on Mondays. ***\n\nCaps are sold.", "Is the pool closed?", "closed on Mondays"),
        ("The deposit is 400 euros. Who gets it?\nTenants get it in May.", "How much is the deposit?", "400 euros"),
        ("Q: Do dogs pay?\nA:\n\nDogs travel free of charge.", "Do dogs pay?", "Dogs travel free of charge."),
    ],
)  # fmt: skip
def test_other_letters_stay_in_an_answer(text: str, question: str, expected: str) -> None:
    quoted = answer(question, passage(text))
    assert expected in quoted
    assert quoted == quoted.strip()


def test_labels_of_a_wrapped_question_and_of_a_bold_answer_are_removed() -> None:
    wrapped = passage(FAQ.replace("Q: Do dogs pay", "Q: Do dogs with children that are smaller than a cat\npay"))
    assert answer("Do dogs pay?", wrapped) == "Dogs travel free of charge. [1]"
    bold = passage(re.sub("^(.+)$", r"**\1**", FAQ, flags=re.MULTILINE))
    assert answer("Where is the café?", bold) == "R. Miller runs it on the upper deck. [1]"
    label = passage(FAQ.replace("A:", "**A:**").replace("runs it", "runs **it**"))
    assert answer("Where is the café?", label) == "R. Miller runs **it** on the upper deck. [1]"


OTHER_SCRIPTS = {
    "ru": ("Вопрос: Где хранят вещи?", "Ответ: В здании есть камера.", "Вопрос: Есть ли скидки?", "Ответ: Нет."),
    "zh": ("问：可以邮寄作品吗？", "答：省外运费为40元。", "问：哪里可以停车？", "答：在地下车库。"),
    "zh-Hant": ("問題：可以郵寄嗎？", "回答:省外運費為40元。", "問題：哪裡可以停車？", "答案：在地下車庫。"),
    "ja": ("質問：犬は入れますか。", "回答：犬は休憩所まで入れます。", "質問：鍵がない。", "答え：再発行できます。"),
    "ar": ("س: أين كبائن الهاتف؟", "ج: كبائن الهاتف في الطابق الثاني.", "س: متى يصل البريد؟", "ج: يصل ظهرًا."),
    "ko": (
        "질문: 주차장이 있습니까?",
        "답변: 주차장은 북문 앞에 있습니다.",
        "질문: 열쇠를 잃었다.",
        "답변: 다시 줍니다.",
    ),
    "pl": (
        "Pytanie: Gdzie jest parking?",
        "Odpowiedź: Parking jest za halą.",
        "Pytanie: Jest zniżka?",
        "Odpowiedź: Nie.",
    ),
    "tr": ("Soru: Otopark nerede?", "Cevap: Otopark salonun arkasında.", "Soru: İndirim var mı?", "Yanıt: Hayır."),
}


@pytest.mark.parametrize("lang", OTHER_SCRIPTS)
def test_labels_of_other_languages_are_removed(lang: str) -> None:
    question, reply, other_question, other_reply = OTHER_SCRIPTS[lang]
    text = f"{question}\n{reply}\n\n{other_question}\n{other_reply}"
    title, expected = (re.split("[:：] ?", line, maxsplit=1)[1] for line in (question, reply))
    assert answer(title, passage(text, lang=lang)) == f"{expected} [1]"


@pytest.mark.parametrize("lang", ["ar", "ja", "ru", "zh"])
def test_questions_without_labels_in_other_scripts(lang: str) -> None:
    text = "\n".join(re.split("[:：] ?", line, maxsplit=1)[1] for line in OTHER_SCRIPTS[lang][:2])
    assert find_question_lines(text.splitlines()) == {0}
    assert not find_question_lines([text.splitlines()[1], text.splitlines()[1]])


LINES = """\
Do dogs pay for a crossing?  Dogs travel free of charge.
May I bring my bicycle?  Bicycles are parked below.
Where is the café?  It is on the upper deck.
"""


def test_of_lines_with_a_question_and_its_answer_one_is_quoted() -> None:
    assert answer("Do dogs pay?", passage(LINES)) == "Do dogs pay for a crossing? Dogs travel free of charge. [1]"
    assert answer("May I bring a bicycle?", passage(LINES)).startswith("May I bring my bicycle? Bicycles")


def test_two_questions_in_a_paragraph_are_no_list() -> None:
    text = "Do dogs pay?  Dogs travel free of charge.\nWho likes cats?  Cats travel free of charge, too."
    assert "Cats travel" in answer("Do dogs travel free of charge?", passage(text))


_PETS = "## May my dog come?\n\nOnly on a lead.\n\n## Who pays for a broken window?\n\nYou do, unless it was a crime."


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What is a crime?", "Who pays for a broken window? You do, unless it was a crime. [1]"),
        ("Who pays for the broken window?", "You do, unless it was a crime. [1]"),
        ("Are cats kept on a lead?", "May my dog come? Only on a lead. [1]"),
    ],
)
def test_a_short_answer_to_another_question_is_quoted_with_it(question: str, expected: str) -> None:
    assert answer(question, passage(_PETS)) == expected


def test_a_sentence_that_says_what_it_is_about_is_quoted_without_its_question() -> None:
    text = "## May my dog come?\n\nDogs may come to all rooms of the house if they are kept on a lead."
    assert answer("Where are dogs kept on a lead?", passage(text)).startswith("Dogs may come")
