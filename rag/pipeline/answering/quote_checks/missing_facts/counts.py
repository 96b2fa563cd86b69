"""Quotes that mention what is to be counted, without a number next to it: "five lessons for each pupil"."""

import re

from rag.pipeline.answering.extractive.question.answer_types import counted_words, has_count
from rag.text.question_language import is_english
from rag.text.words import stem, stems

_MAX_TEXT = 2_000
# What may be said instead of a number.
_ANY_COUNT = re.compile(
    r"\b(?:both|couple|dozens?|either|many|none|pair|several|single|sole|unlimited|beide\w*|dutzend\w*|einige|einzige\w*"
    r"|kein\w*|mehrere|unbegrenzt\w*|viele|aucune?|deux|douzaine|illimité\w*|plusieurs|seule?|ambos|docena|ilimitad\w*"
    r"|ningun\w*|únic[oa]|varios|divers[ei]|entramb[ie]|nessun\w*|unic[oa]|ambas|nenhum\w*|vári[oa]s|beide|enige|geen"
    r"|meerdere|verschillende)\b",
    re.IGNORECASE,
)


def may_lack_count(query: str, text: str, lang: str) -> bool:
    """Return whether a question asks how many things there are, and quotes mention these, but no number of them.

    Quotes with other words may count the same: "120 seats" for "How many people fit in?".

    Args:
        query: The question.
        text: The quotes.
        lang: The language of both, as documents declare it.
    """
    text, counted = text[:_MAX_TEXT], counted_words(query)
    if not counted or has_count(text, query, lang) or _ANY_COUNT.search(text):
        return False
    language = "" if is_english(query) else lang
    return stem(counted[0], language) in stems(text, language)
