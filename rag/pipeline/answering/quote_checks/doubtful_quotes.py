"""Quotes that may well not say what is asked, although they have its words."""

import re
from collections.abc import Sequence

from rag.pipeline.answering.extractive.question.question_type import is_yes_or_no
from rag.pipeline.retrieval.query.split_question import QUESTION_WORDS
from rag.text.words import content_words, stem

from .missing_names import has_name

_MAX_QUESTION, _MAX_TEXT = 500, 2_000
_WHY = re.compile(r"\A\W*(?:why|warum|wieso|weshalb|pourquoi|por qué)\b", re.IGNORECASE)
_REASON = re.compile(
    r"\b(?:because|since|as|due|owing|reasons?|so that|otherwise|therefore|thus|caus\w+|in order|if|when|while"
    r"|to (?:allow|avoid|ensure|keep|make|prevent|protect|save)|weil|da|damit|wegen|denn|um|sonst|wenn|während"
    r"|gr[uü]nd\w*|deshalb|daher|car|parce|puisque|afin|pour|quand|raisons?"
    r"|porque|cuando|para|debido|ya que|motivos?)\b",
    re.IGNORECASE,
)
# "Who was elected?", "Who won the race?"
_WHO_DID = re.compile(
    r"\A\W*who (?:was|were|has been|have been|built|gave|led|made|paid|sent|took|won|wrote|[^\W\d_]{2,20}ed)\b",
    re.IGNORECASE,
)
_OPEN = re.compile(rf"\A\W*{QUESTION_WORDS}", re.IGNORECASE)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n")
# The share of the question's words that a sentence has which only repeats it.
_MIN_REPEATED = 0.7
# "In hotels, all periods are halved", "For pupils: half of the price".
_CASE = re.compile(
    r"\A(?:- )?(?:if|in case|in|for|at|unless|except|wenn|falls|bei|in|für|si|en cas|en|pour|para|sauf)\s"
    r"([^.:;]{3,120}?)[,:]",
    re.IGNORECASE,
)
# A place or a time may be the answer.
_WHERE_OR_WHEN = re.compile(r"\b(?:where|when|wo|wann|où|quand|dónde|cuándo)\b", re.IGNORECASE)


def says_what_is_sought(query: str, text: str, sentences: Sequence[str]) -> bool:
    """Return whether quotes have a reason, a name or anything new, if the question asks for it, and for the same case.

    Args:
        query: The question.
        text: The quotes as they are shown.
        sentences: The first quote's sentences, items or rows.
    """
    question, shown = query[:_MAX_QUESTION], text[:_MAX_TEXT]
    if _WHY.match(question) and not _REASON.search(shown):
        return False
    if _WHO_DID.match(question) and not has_name(shown, question):
        return False
    return not (_repeats(question, shown) or _is_about_other_case(question, next(iter(sentences), "")[:_MAX_QUESTION]))


def _repeats(question: str, text: str) -> bool:
    """Return whether a sentence only repeats what the question says: "Two more services are being prepared."."""
    if not _OPEN.match(question):
        return False
    sought = _stems(question)
    repeated = (
        stems
        for sentence in _SENTENCE_END.split(text)
        if not any(map(str.isdigit, sentence)) and (stems := _stems(sentence)) and stems <= sought
    )
    return any(len(stems) >= max(2, _MIN_REPEATED * len(sought)) for stems in repeated)


def _is_about_other_case(question: str, sentence: str) -> bool:
    """Return whether a sentence begins with a case that the question does not name."""
    case = _CASE.match(sentence)
    if case is None or is_yes_or_no(question) or _WHERE_OR_WHEN.search(question):
        return False
    return bool(_stems(case[1])) and _stems(case[1]).isdisjoint(_stems(question))


def _stems(text: str) -> frozenset[str]:
    return frozenset(stem(word, "") for word in content_words(text, ""))
