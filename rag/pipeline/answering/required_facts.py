"""Step: a question and the quotes for it -> whether they have what every answer to it must have."""

import re
from collections.abc import Sequence

from rag.pipeline.answering.extractive.question.answer_types import (
    AnswerType,
    expected_answer_type,
    has_answer_of_type,
    has_count,
)
from rag.pipeline.grounding.cross_language_grounding import is_in_other_language
from rag.pipeline.retrieval.query.split_clauses import asking_clauses
from rag.text.function_words import FUNCTION_WORDS
from rag.text.languages import snowball_algorithm
from rag.text.quantities.quantity_words import any_of
from rag.types import Citation

from .generate import PreparedGeneration

# Whether a text has a price or a number of something can only be seen in these.
_LANGUAGES = frozenset({"english", "german", "french", "spanish"})
_REQUIRED = frozenset({AnswerType.PHONE_NUMBER, AnswerType.EMAIL_ADDRESS, AnswerType.YEAR})
# What costs something is not paid by a share, unless one may be asked for.
_PERCENT = re.compile(r"(?<![\d.,])\d[\d.,]*\s?(?:%|per ?cent|prozent|pour cent|por ciento)", re.IGNORECASE)
_SHARE = re.compile(
    r"bonus|fee|charge|commission|rate|interest|tax|gebühr|provision|zins|frais|taux|comisión", re.IGNORECASE
)
# "2024/25" and "2024-2025" are both years.
_YEAR = re.compile(
    r"(?<![\w.,])(?P<year>(?:19|20)\d\d)(?:\s?[/–-]\s?(?:(?:19|20)(?=\d\d(?!\d)))?(?P<next>\d\d)(?!\d))?(?![\w€$£])"
)
_MAX_NAME_WORDS = 6
_OTHER_NAME = (
    rf"(?!(?i:{any_of(FUNCTION_WORDS['english'])})\b)((?:[A-Z]|\d)[\w.-]*)(?! (?:or|and) (?:later|newer|higher|above))"
)
_MIN_YEAR, _MAX_YEAR = 1900, 2099
_YEAR_BEHIND = r" (?:\w+\.? ){0,2}(?:19|20)\d\d(?!\w)"
_SINCE = re.compile(
    rf"\b(?:since|from|as of|seit|ab|von|depuis|dès|à partir de|desde|a partir de){_YEAR_BEHIND}", re.IGNORECASE
)
_UNTIL = re.compile(rf"\b(?:until|till|through|bis|jusqu['’]en|jusqu['’]à|hasta){_YEAR_BEHIND}", re.IGNORECASE)


def has_required_facts(query: str, generation: PreparedGeneration, gaps: Sequence[str]) -> bool:
    """Return whether quotes can be the answer to a question: what some questions ask for is easily seen to be missing.

    It is missing if no quote has a telephone number, an address, a year or a price that was asked for, if no number is
    near what the question wants to be counted, or if they are about other years or a thing of a similar name.

    Args:
        query: The question.
        generation: The answer with its quotes.
        gaps: The phrases of the question that no passage mentions.
    """
    text, citations = generation.quoted_text, generation.quotes or ()
    answer_type = expected_answer_type(query)
    if answer_type in _REQUIRED and not has_answer_of_type(text, answer_type):
        return False
    if _is_about_other_year(query, citations):
        return False
    if any(_has_similar_name("\n".join([text, *generation.headings]), gap) for gap in gaps):
        return False
    if any((snowball_algorithm(citation.passage.lang) or "english") not in _LANGUAGES for citation in citations):
        return True
    if answer_type is AnswerType.PRICE:
        return has_answer_of_type(text if _SHARE.search(query) else _PERCENT.sub("", text), answer_type)
    lang = citations[0].passage.lang if citations else ""
    is_translated = is_in_other_language(query, [citation.passage for citation in citations])
    return is_translated or has_count(text, query, lang)


def _is_about_other_year(query: str, citations: Sequence[Citation]) -> bool:
    """Return whether the passages of quotes name years, and all are before or all after those of the question.

    "Since 2019" is about all later years, "until 2030" about all earlier ones.
    """
    asked_years = set().union(*(_find_years(clause) for clause in asking_clauses(query)))
    if not asked_years:
        return False
    text = "\n".join(citation.passage.text_with_headings for citation in citations)
    years = _find_years(text) | {_MAX_YEAR for _ in _SINCE.finditer(text)} | {_MIN_YEAR for _ in _UNTIL.finditer(text)}
    return bool(years) and not min(years) <= max(asked_years) <= max(years)


def _has_similar_name(text: str, name: str) -> bool:
    """Return whether a text has a name that differs in one word: "Tarn 5" or "Hut Tarn" instead of "Tarn 7"."""
    words = name.split()[:_MAX_NAME_WORDS]
    for position, word in enumerate(words if len(words) > 1 else ()):
        if word[0].isdigit() or word[0].isupper():
            others = [re.escape(other) for other in words]
            others[position] = _OTHER_NAME
            if any(
                match[1].lower() != word.lower()
                for match in re.finditer(rf"(?<![\w.-]){'[ ]'.join(others)}(?!\w)", text)
            ):
                return True
    return False


def _find_years(text: str) -> set[int]:
    years = set()
    for match in _YEAR.finditer(text):
        year = int(match["year"])
        years.add(year)
        if match["next"] and int(match["next"]) == (year + 1) % 100:
            years.add(year + 1)
    return years
