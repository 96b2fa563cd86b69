"""Questions of an FAQ whose lines only say which is the question and which the answer: `Q: …` above `A: …`.

Many help pages, leaflets and mails are written like this. Each question is the title of its answer.
"""

import re
from collections.abc import Iterator, Sequence

# In English, German, French, Spanish and Italian; a number may follow, and marks of emphasis may surround each.
_MARK_END = r"[ ]?\d{0,3}[*_]{0,3}[.:)][*_]{0,3}(?:[ \t]+|\Z)"
_QUESTION = re.compile(rf"[*_]{{0,3}}(?:Q|Question|F|Frage|P|Pregunta|D|Domanda){_MARK_END}(?P<title>\S.*)")
_ANSWER = re.compile(rf"[*_]{{0,3}}(?:A|Answer|Antwort|R|Réponse|Respuesta|Risposta){_MARK_END}")
# Two lines with such letters may be anything.
_MIN_QUESTIONS = 3
_MAX_TITLE_CHARACTERS = 200
# A long question is wrapped.
_MAX_LINES = 3


def find_faq_questions(lines: Sequence[str]) -> list[tuple[int, str]]:
    """Return the index and the title of each question that has its answer below.

    Args:
        lines: The lines of the text, without their ends.

    Returns:
        The questions in order, without their marks; nothing if there are fewer than three.
    """
    questions = list(_questions_above_answers(lines))
    return questions if len(questions) >= _MIN_QUESTIONS else []


def _questions_above_answers(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(lines):
        match = _QUESTION.match(line[: 2 * _MAX_TITLE_CHARACTERS])
        if not match:
            continue
        end = number + 1
        while end < min(number + _MAX_LINES, len(lines)) and lines[end].strip() and not _ANSWER.match(lines[end]):
            end += 1
        below = next((text for text in lines[end : end + 2] if text.strip()), "")
        title = " ".join([match["title"], *(text.strip() for text in lines[number + 1 : end])]).strip("*_ \t")
        if _ANSWER.match(below) and len(title) <= _MAX_TITLE_CHARACTERS:
            yield number, title
