"""Quotes that may well not say what is asked, although they have its words."""

import re

from rag.pipeline.retrieval.query.split_question import FIRST_QUESTION_WORDS, QUESTION_WORDS
from rag.text.words import content_words, stem

_MAX_QUESTION, _MAX_TEXT = 500, 2_000
_WHY = re.compile(
    r"\A\W*(?:why|warum|wieso|weshalb|pourquoi|por qu[eé]|perché|come mai|porqu[eê]"
    r"|waarom)\b",
    re.IGNORECASE,
)
_REASON = re.compile(
    r"\b(?:because|since|as|due|owing|reasons?|so that|otherwise|therefore|thus|caus\w+|in order|if|when|while|means?"
    r"|results?|to (?:allow|avoid|ensure|keep|make|prevent|protect|save)|weil|da|damit|wegen|denn|um|sonst|wenn|während"
    r"|nachdem|\w{0,20}gr[uü]nd\w*|infolge|bedeutet|deshalb|daher|car|parce|puisque|afin|pour|quand|raisons?|grâce"
    r"|porque|cuando|como|para|por|debe|debido|ya que|motivos?|perché|poiché|infatti|finché|per (?:ferie|lavori"
    r"|mancanza)|door (?:de|een|het|ziekte)|als (?:de|er|het|je|u)|siccome|affinché|altrimenti|dato che"
    r"|dovut[aeio]|grazie|motiv[oi]|ragion[ei]|in modo|quando|quindi|per (?:consentire|evitare|garantire|permettere"
    r"|proteggere)|pois (?:a|as|não|o|os)|já que|devido|caso contrário|senão|omdat|doordat|zodat|want (?:anders|de|er"
    r"|het)|wegens|vanwege|dankzij|daarom|de reden|redenen|wanneer|om (?:\w+ ){0,4}te)\b",
    re.IGNORECASE,
)
# A quote with fewer words of a question for a reason may be a reason in other words: "The hall was flooded."
_MIN_COMMON_WORDS = 2
_OPEN = re.compile(rf"\A\W*(?:{QUESTION_WORDS}|{FIRST_QUESTION_WORDS})", re.IGNORECASE)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n")
# The share of the question's words that a sentence has which only repeats it.
_MIN_REPEATED = 0.7


def says_what_is_sought(query: str, text: str) -> bool:
    """Return whether quotes may have a reason, if the question asks why, and end with more than the question's words.

    Args:
        query: The question.
        text: The quotes as they are shown.
    """
    question, shown = query[:_MAX_QUESTION], text[:_MAX_TEXT]
    return not (_lacks_reason(question, shown) or _repeats(question, shown))


def _lacks_reason(question: str, text: str) -> bool:
    """Return whether a question asks why, and a text says only that it is so."""
    if not _WHY.match(question) or _REASON.search(text):
        return False
    sought = _stems(question)
    return len(_stems(text) & sought) >= min(_MIN_COMMON_WORDS, len(sought))


def _repeats(question: str, text: str) -> bool:
    """Return whether a text ends with what the question says: "Two more services are being prepared."."""
    last = _SENTENCE_END.split(text.strip())[-1]
    if not _OPEN.match(question) or any(map(str.isdigit, last)):
        return False
    sought, stems = _stems(question), _stems(last)
    return stems <= sought and len(stems) >= max(2, _MIN_REPEATED * len(sought))


def _stems(text: str) -> frozenset[str]:
    return frozenset(stem(word, "") for word in content_words(text, ""))
