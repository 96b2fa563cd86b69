"""Step: is an answer carried by its context? After it was made (the agent contract, GroundingValidatorTool)."""

import re
from collections.abc import Sequence

from rag.lexical import content_words, language_of, sentences, stem, stems
from rag.types import Passage, Validation

# Of a sentence's words, how many the context must have for the sentence to count as carried.
_CARRIED = 0.6
# Of an answer's sentences, how many must be carried.
_VALID = 0.6
# Of a sentence's words, how many a passage must have for the sentence to rest on it.
_RESTS = 0.5
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_CITATION = re.compile(r"\[\d+\]")


def validate(answer: str, context: str, langs: Sequence[str] = ()) -> Validation:
    """Sentence by sentence: its words, and every number in it, must be in the context, whose languages are `langs`."""
    lang = language_of(answer, langs)
    known, numbers = stems(context, lang), set(_NUMBER.findall(context))
    checked = [each for each in sentences(_CITATION.sub("", answer)) if content_words(each, lang)]
    shares = [_share(content_words(each, lang), known, lang) for each in checked]
    invented = sorted({number for each in checked for number in _NUMBER.findall(each)} - numbers)
    carried = sum(share >= _CARRIED for share in shares)
    score = sum(shares) / len(shares) if shares else 0.0
    is_valid = bool(checked) and not invented and carried >= _VALID * len(checked)
    details = f"{carried} of {len(checked)} sentences are carried by the context."
    if invented:
        details += f" Numbers that it does not have: {', '.join(invented[:10])}."
    return Validation(is_valid, 0.0 if invented else score, details)


def carriers(answer: str, passages: Sequence[Passage]) -> tuple[Passage, ...]:
    """The passages that an answer without citations rests on: for each sentence the one that has most of its words."""
    known = [(stems(passage.text, passage.lang), passage.lang) for passage in passages]
    lang = language_of(answer, [passage.lang for passage in passages])
    chosen = set()
    for sentence in sentences(_CITATION.sub("", answer)):
        words = content_words(sentence, lang)
        shares = [_share(words, *each) for each in known] if words else []
        if shares and max(shares) >= _RESTS:
            chosen.add(shares.index(max(shares)))
    return tuple(passages[index] for index in sorted(chosen))


def _share(words: Sequence[str], known: dict[str, int], lang: str) -> float:
    return sum(stem(word, lang) in known for word in words) / len(words)
