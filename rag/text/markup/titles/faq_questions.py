"""Questions of an FAQ without headings: `Q: …` above `A: …`, or a line with a question right above its answer.

Many help pages, leaflets and mails are written like this. Each question is the title of its answer.
"""

import re
from collections.abc import Iterator, Sequence

from rag.text.sentences.unspaced_scripts import is_mostly_unspaced

# Japanese questions end with a particle.
QUESTION_ENDINGS = ("?", "？", "؟", "か。")
# A long question with a label is wrapped.
MAX_QUESTION_LINES = 3
# The labels of questions, and those that their answers may have.
_ANSWER_LABELS = {
    "Q": "A|R",
    "Question": "Answer|Réponse|A",
    "F": "A",
    "Frage": "Antwort|A",
    "P": "R|O",
    "Pregunta": "Respuesta|R",
    "D": "R",
    "Domanda": "Risposta|R",
    "Pergunta": "Resposta|R",
    "V": "A",
    "Vraag": "Antwoord|A",
    "Pytanie": "Odpowiedź|O",
    "Soru": "Cevap|Yanıt|C",
    "S": "C",
    "Вопрос": "Ответ|О",
    "В": "О",
    "السؤال": "الجواب|الإجابة|ج",
    "سؤال": "جواب|إجابة|ج",
    "س": "ج",
    "问题": "回答|答案|答",
    "問題": "回答|答案|答",
    "问": "答",
    "問": "答",
    "質問": "回答|答え|答",
    "Ｑ": "Ａ",
    "질문": "답변|대답|답",
    "문": "답",
}
# Other single letters are also labels of phones, dates, decisions and people, so these need a question mark.
_CLEAR_LABELS = frozenset(label for label in _ANSWER_LABELS if len(label) > 1 or label in "QＱ问問문")
# A number may follow, and marks of emphasis may surround both. A point is enough after a number. No space is behind a
# wide colon, nor behind a colon that follows a Chinese character.
_LABEL_END = (
    r"[ ]?\d{0,3}[ ]?\*{0,3}(?:(?:：|(?<=\d)．|(?<=[\u3040-\u9fff]):)\*{0,3}[ \t\u3000]*"
    r"|(?::|(?<=\d)[.)])\*{0,3}(?:[ \t]+|\Z))"
)
_QUESTION = re.compile(rf"\*{{0,3}}(?P<label>{'|'.join(_ANSWER_LABELS)})(?P<end>{_LABEL_END})(?=\S)")
_ANSWERS = {label: re.compile(rf"\*{{0,3}}(?:{answers}){_LABEL_END}") for label, answers in _ANSWER_LABELS.items()}
# Fewer different ones may be anything.
_MIN_QUESTIONS = 3
# A line without a label that says something before it asks is the beginning of a paragraph.
_STATEMENT_END = re.compile(r"[.!][\"'”’)]*\s|[。！](?=.)")
_MAX_TITLE_CHARACTERS = 200
_MIN_ANSWER_WORDS, _MIN_ANSWER_CHARACTERS = 3, 6
# Lines that are indented more are code.
_MAX_INDENT = 3


def find_faq_questions(lines: Sequence[str]) -> list[tuple[int, str]]:
    """Return the index and the title of each question that has its answer below.

    Args:
        lines: The lines of the text, without their ends.

    Returns:
        The questions in order, without their labels; nothing if there are fewer than three different ones.
    """
    questions = [(rows[0], _title([lines[number] for number in rows])) for rows in _questions_above_answers(lines)]
    return questions if len({title for _, title in questions}) >= _MIN_QUESTIONS else []


def find_question_lines(lines: Sequence[str]) -> frozenset[int]:
    """Return the indexes of the lines of all questions that have their answers below, even of a single one."""
    return frozenset(number for rows in _questions_above_answers(lines) for number in rows)


def is_labelled_question(text: str) -> bool:
    """Return whether a text begins with the label of a question."""
    label = _QUESTION.match(text)
    if not label:
        return False
    is_clear = label["label"] in _CLEAR_LABELS and label["end"].strip("* \t\u3000").endswith((":", "："))
    return is_clear or text.rstrip("* ").endswith(QUESTION_ENDINGS)


def without_question_label(text: str) -> str:
    """Return a question without its label, or any other text unchanged."""
    label = _QUESTION.match(text) if is_labelled_question(text) else None
    return text[label.end() :] if label else text


def without_answer_label(text: str, question: str) -> str:
    """Return the answer to a question without the label that belongs to the question's; other texts unchanged."""
    label = _QUESTION.match(question) if is_labelled_question(question) else None
    answer = _ANSWERS[label["label"]].match(text) if label else None
    if not answer or answer.end() == len(text):
        return text
    unlabelled = text[answer.end() :]
    is_bold = answer[0].startswith("**") and answer[0].count("**") == 1  # as a whole, not only the label
    return unlabelled.replace("**", "", 1) if is_bold else unlabelled


def _title(question_lines: Sequence[str]) -> str:
    text = " ".join(line.strip() for line in question_lines).rstrip("\\ ")
    title = without_question_label(text).replace("**", "")
    return title.strip("*") if text.startswith("*") else title


def _questions_above_answers(lines: Sequence[str]) -> Iterator[range]:
    """Yield the lines of each question."""
    number = 0
    while number < len(lines):
        end = _end_of_question(lines, number)
        if end:
            yield range(number, end)
        number = end or number + 1


def _end_of_question(lines: Sequence[str], number: int) -> int:
    """Return the index behind a question that begins in a line and has its answer below; 0 if there is none."""
    line = lines[number].strip()
    if not line or _is_indented(lines[number]):
        return 0
    label = _QUESTION.match(line)
    if not label:
        return number + 1 if _is_above_answer(lines, number) else 0
    answer = _ANSWERS[label["label"]]
    for end in range(number + 1, min(number + MAX_QUESTION_LINES, len(lines)) + 1):
        below = next((text.strip() for text in lines[end : end + 2] if text.strip()), "")
        if answer.match(below):
            text = " ".join(lines[index].strip() for index in range(number, end))
            return end if is_labelled_question(text) and len(text) <= _MAX_TITLE_CHARACTERS else 0
        if not below or _QUESTION.match(below) or not lines[end].strip():
            return 0
    return 0


def _is_above_answer(lines: Sequence[str], number: int) -> bool:
    """Return whether a line without a label is a question below an empty line and right above a text."""
    line = lines[number].rstrip().rstrip("*")
    if not line.endswith(QUESTION_ENDINGS) or (number and lines[number - 1].strip()):
        return False
    below = "".join(lines[number + 1 : number + 2]).strip()
    first = line.lstrip("*¿")[:1]
    is_title = first.isalpha() and not first.islower() and len(line) <= _MAX_TITLE_CHARACTERS
    return is_title and not _STATEMENT_END.search(line) and _is_text(below)


def _is_text(line: str) -> bool:
    """Return whether a line is a text of its own, not the entry of a form or another question."""
    is_unspaced = len(line) >= _MIN_ANSWER_CHARACTERS and is_mostly_unspaced(line)
    has_words = is_unspaced or len(line.split()) >= _MIN_ANSWER_WORDS
    return line[:1].isalnum() and has_words and not line.endswith(QUESTION_ENDINGS)


def _is_indented(line: str) -> bool:
    return len(line) - len(line.lstrip()) > _MAX_INDENT
