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
from rag.text.languages import snowball_algorithm
from rag.types import Citation

# Whether a text has a price or a number of something can only be seen in these.
_LANGUAGES = frozenset({"english", "german", "french", "spanish"})
_CONTACTS = frozenset({AnswerType.PHONE_NUMBER, AnswerType.EMAIL_ADDRESS})
# "2024/25" and "2024-2025" are both years.
_YEAR = re.compile(
    r"(?<![\w.,])(?P<year>(?:19|20)\d\d)(?:\s?[/–-]\s?(?:(?:19|20)(?=\d\d(?!\d)))?(?P<next>\d\d)(?!\d))?(?![\w€$£])"
)
_MIN_YEAR, _MAX_YEAR = 1900, 2099
_YEAR_BEHIND = r" (?:\w+\.? ){0,2}(?:19|20)\d\d(?!\w)"
_SINCE = re.compile(
    rf"\b(?:since|from|as of|seit|ab|von|depuis|dès|à partir de|desde|a partir de){_YEAR_BEHIND}", re.IGNORECASE
)
_UNTIL = re.compile(rf"\b(?:until|till|through|bis|jusqu['’]en|jusqu['’]à|hasta){_YEAR_BEHIND}", re.IGNORECASE)


def has_required_facts(query: str, citations: Sequence[Citation], quoted_text: str) -> bool:
    """Return whether quotes can be the answer to a question: what some questions ask for is easily seen to be missing.

    It is missing if no quote has a telephone number or an address that was asked for, if nothing near the quotes is a
    price, if no number is near what the question wants to be counted, or if what they are from is about other years.

    Args:
        query: The question.
        citations: The quotes.
        quoted_text: The quotes, with the names of columns.
    """
    answer_type = expected_answer_type(query)
    if answer_type in _CONTACTS and not has_answer_of_type(quoted_text, answer_type):
        return False
    passages = [citation.passage.text_with_headings for citation in citations]
    if _is_about_other_year(query, passages):
        return False
    langs = {snowball_algorithm(citation.passage.lang) or "english" for citation in citations}
    if not langs <= _LANGUAGES:
        return True
    if answer_type is AnswerType.PRICE:
        return any(has_answer_of_type(text, AnswerType.PRICE) for text in (quoted_text, *passages))
    lang = citations[0].passage.lang if citations else ""
    is_translated = is_in_other_language(query, [citation.passage for citation in citations])
    return is_translated or has_count(quoted_text, query, lang)


def _is_about_other_year(query: str, passages: Sequence[str]) -> bool:
    """Return whether the passages of quotes name years, and all are before or all after those of the question.

    "Since 2019" is about all later years, "until 2030" about all earlier ones.
    """
    asked_years = set().union(*(_find_years(clause) for clause in asking_clauses(query)))
    if not asked_years:
        return False
    text = "\n".join(passages)
    years = _find_years(text) | {_MAX_YEAR for _ in _SINCE.finditer(text)} | {_MIN_YEAR for _ in _UNTIL.finditer(text)}
    return bool(years) and not min(years) <= max(asked_years) <= max(years)


def _find_years(text: str) -> set[int]:
    years = set()
    for match in _YEAR.finditer(text):
        year = int(match["year"])
        years.add(year)
        if match["next"] and int(match["next"]) == (year + 1) % 100:
            years.add(year + 1)
    return years
