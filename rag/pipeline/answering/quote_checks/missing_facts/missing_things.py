"""Whether a passage lacks a word for the thing that a question asks about, such as its price."""

import re
from collections.abc import Set

from rag.pipeline.answering.extractive.question.question_type import find_codes
from rag.pipeline.grounding.gaps import extract_query_parts, find_covered_parts, is_sought
from rag.text.question_language import is_english
from rag.types import Passage

_MAX_QUESTION = 500
# "What does it cost to bring a dog?" and "What does it cost if we come later?" are answered in other words.
_IN_MANY_WORDS = re.compile(
    r"[,;:.?!]\s(?=[\w¿])|\bcost (?:\w+ ){0,3}to\b|\b(?:and|because|if|when|und|falls|weil|wenn|et|lorsque|quand|si"
    r"|cuando|y|quando|se|als|en|wanneer)\b",
    re.IGNORECASE,
)


def lacks_thing(query: str, text: str, passage: Passage, other_words: Set[str]) -> bool:
    """Return whether a passage lacks a word for the one thing that a question asks about.

    A code that question and quotes have is the thing: "refresher package for a motorcycle, class A2".

    Args:
        query: The question.
        text: The quotes.
        passage: The passage of the first quote.
        other_words: Words of questions that do not say what the thing is, in lower case.
    """
    question = query[:_MAX_QUESTION]
    if _IN_MANY_WORDS.search(question) or not set(find_codes(question)).isdisjoint(find_codes(text)):
        return False
    parts = extract_query_parts(question, "" if is_english(query) else passage.lang)
    covered = find_covered_parts(parts, passage)
    return any(
        part not in covered
        and is_sought(part, question)
        and part.text.isalpha()
        and part.text.lower() not in other_words
        for part in parts
    )
