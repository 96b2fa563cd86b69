"""Questions of an FAQ without headings: `Q: …` above `A: …`, or a line with a question right above its answer.

Many help pages, leaflets and mails are written like this. Each question is the title of its answer.
"""

import re
from collections.abc import Iterator, Sequence

# In English, German, French, Spanish and Italian; a number may follow, and marks of emphasis may surround each.
_LABEL_END = r"[ ]?\d{0,3}[ ]?[*_]{0,3}[.:)][*_]{0,3}(?:[ \t]+|\Z)"
_QUESTION = re.compile(rf"[*_]{{0,3}}(?:Q|Question|F|Frage|P|Pregunta|D|Domanda){_LABEL_END}(?=\S)")
_ANSWER = re.compile(rf"[*_]{{0,3}}(?:A|Answer|Antwort|R|Réponse|Respuesta|Risposta){_LABEL_END}")
QUESTION_ENDINGS = ("?", "？", "؟")
# Two lines with such letters may be anything.
_MIN_QUESTIONS = 3
_MAX_TITLE_CHARACTERS = 200
# A long question with a label is wrapped.
_MAX_LINES = 3


def find_faq_questions(lines: Sequence[str]) -> list[tuple[int, str]]:
    """Return the index and the title of each question that has its answer below.

    Args:
        lines: The lines of the text, without their ends.

    Returns:
        The questions in order, without their labels; nothing if there are fewer than three.
    """
    questions = []
    for question_lines in _questions_above_answers(lines):
        title = without_question_label(" ".join(lines[number].strip() for number in question_lines)).strip("*_")
        if len(title) <= _MAX_TITLE_CHARACTERS:
            questions.append((question_lines[0], title))
    return questions if len(questions) >= _MIN_QUESTIONS else []


def find_question_lines(lines: Sequence[str]) -> frozenset[int]:
    """Return the indexes of the lines of all questions that have their answers below, even of a single one."""
    return frozenset(number for question_lines in _questions_above_answers(lines) for number in question_lines)


def without_question_label(text: str) -> str:
    """Return a question without its label and marks of emphasis, or any other text unchanged."""
    label = _QUESTION.match(text)
    return text[label.end() :].strip("*_ \t") if label else text


def without_answer_label(text: str) -> str:
    """Return an answer without its label, or any other text unchanged."""
    label = _ANSWER.match(text)
    return text[label.end() :] if label else text


def _questions_above_answers(lines: Sequence[str]) -> Iterator[range]:
    """Yield the lines of each question."""
    for number, line in enumerate(lines):
        if not _QUESTION.match(line.lstrip()):
            if _is_above_answer(lines, number):
                yield range(number, number + 1)
            continue
        end = number + 1
        while end < min(number + _MAX_LINES, len(lines)) and lines[end].strip() and not _is_answer(lines[end]):
            end += 1
        below = next((text for text in lines[end : end + 2] if text.strip()), "")
        if _is_answer(below):
            yield range(number, end)


def _is_above_answer(lines: Sequence[str], number: int) -> bool:
    """Return whether a line without a label is a question below an empty line and right above a text."""
    line = lines[number].rstrip().rstrip("*_")
    if not line.endswith(QUESTION_ENDINGS) or (number and lines[number - 1].strip()):
        return False
    below = "".join(lines[number + 1 : number + 2]).strip()
    is_title = line.lstrip("*_¿")[:1].isupper() and len(line) <= _MAX_TITLE_CHARACTERS
    return is_title and below[:1].isalnum() and not below.endswith(QUESTION_ENDINGS)


def _is_answer(line: str) -> bool:
    return bool(_ANSWER.match(line.lstrip()))
