"""What a question asks for."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rag.text.words import content_words, query_language, split_words

# By the words with which such questions begin, in English, German, French and Spanish.
_NUMBER_QUESTION = re.compile(
    r"\b(?:how (?:many|much|long|often|large|big|heavy|high|old|far|fast|late|early|tall|wide|deep|soon)|when"
    r"|what (?:does|do|did) .{1,80} cost|what (?:is|was|are) the (?:price|cost|number|size|length|weight|year|date)"
    r"|what time|which (?:version|year|day|date)|wie (?:viel|viele|lange|oft|hoch|groß|alt|schwer|weit)|wann|was kostet"
    r"|combien|quand|à quelle heure|cuánto|cuánta|cuántos|cuántas|cuándo)\b",
    re.IGNORECASE,
)

# "What is a chunk?", "What does INDEX_FULL mean?": what follows is defined.
_DEFINITION_QUESTION = re.compile(
    r"\s*(?:what|who) (?:is|are|was|were) (?:an? |the )?(?P<what>[^?]{2,60})\?*\s*"
    r"|\s*what (?:does|do) (?:an? |the )?(?P<term>[^?]{2,60}) mean\?*\s*"
    r"|\s*was (?:ist|sind) (?:ein |eine |der |die |das )?(?P<was>[^?]{2,60})\?*\s*",
    re.IGNORECASE,
)
_MAX_TERM_WORDS = 3


def asked_term(question: str) -> str:
    """Return what a question wants to have defined; empty if it asks for something else."""
    match = _DEFINITION_QUESTION.fullmatch(question[:200])
    term = next(filter(None, match.groups()), "") if match else ""
    return term if len(term.split()) <= _MAX_TERM_WORDS else ""


def asks_for_number(question: str) -> bool:
    """Return whether a question asks for a number, an amount, a price or a time."""
    return bool(_NUMBER_QUESTION.search(question[:500]))


@dataclass(frozen=True, slots=True)
class AnalysedQuestion:
    """A question as the selection of quotes sees it.

    Attributes:
        words: The content words, and all numbers.
        is_number_expected: Whether the question asks for a number, an amount or a time.
        term: What the question wants to have defined; empty if it asks for something else.
    """

    words: tuple[str, ...]
    is_number_expected: bool
    term: str


def analyse_question(question: str, langs: Sequence[str]) -> AnalysedQuestion:
    """Analyse a question.

    Args:
        question: The question.
        langs: The languages of the passages, as documents declare them.
    """
    lang = query_language(question, langs)
    numbers = (word for word in split_words(question, lang) if word.isdigit())  # "exit code 3"
    words = tuple(dict.fromkeys([*content_words(question, lang), *numbers]))
    return AnalysedQuestion(words, is_number_expected=asks_for_number(question), term=asked_term(question))
