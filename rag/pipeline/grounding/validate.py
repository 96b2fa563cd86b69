"""Step: is an answer carried by its context? After it was made (the agent contract, GroundingValidatorTool)."""

import re
from collections.abc import Sequence

from rag.text.words import content_words, query_language, split_sentences, stem, stems
from rag.types import CheckedSentence, Passage, Validation

from .claims import Claim, score_claims

# From which score a sentence is carried, and from which an answer (docs/decisions/0030-answer-validation.md).
_CARRIED = 0.55
_VALID = 0.55
# What the worst sentence counts for beside the mean of all.
_WORST = 0.42
# Of a sentence's words, how many a passage must have for the sentence to rest on it.
_RESTS = 0.5
_NAMED = 10
_CITATION = re.compile(r"\[\d+\]")


def validate_answer(answer: str, context: str, langs: Sequence[str] = ()) -> Validation:
    """Sentence by sentence, by its words, the nearness of its weakest piece, its names and its numbers. `langs` are the
    context's languages. A number that the context does not have makes a sentence, and the answer, not valid."""
    lang = query_language(answer, langs)
    # Citations are no part of what is said; blanks keep every place where it is.
    plain = _CITATION.sub(lambda match: " " * len(match.group()), answer)
    found = score_claims(plain, context, lang)
    score = _together(found)
    numbers = _distinct([each.unknown_numbers for each in found])
    names = _distinct([each.unknown_names for each in found])
    checked = tuple(_checked(answer, each) for each in found)
    carried = sum(each.is_supported for each in checked)
    details = f"{carried} of {len(checked)} sentences are carried by the context."
    if numbers:
        details += f" Numbers that it does not have: {', '.join(numbers[:_NAMED])}."
    if names:
        details += f" Names that it does not have: {', '.join(names[:_NAMED])}."
    return Validation(
        is_valid=bool(found) and not numbers and score >= _VALID,
        score=score,
        details=details,
        sentences=checked,
    )


def _checked(answer: str, claim: Claim) -> CheckedSentence:
    return CheckedSentence(
        text=answer[claim.start : claim.end],
        start=claim.start,
        end=claim.end,
        is_supported=claim.score >= _CARRIED and not claim.unknown_numbers,
        score=claim.score,
        context_span=claim.span,
        unknown_terms=(*claim.unknown_numbers, *claim.unknown_names),
    )


def _together(found: Sequence[Claim]) -> float:
    """An answer is worth what its sentences are on average, and no answer is good whose worst sentence is bad."""
    if not found:
        return 0.0
    sizes = [claim.end - claim.start for claim in found]
    mean = sum(claim.score * size for claim, size in zip(found, sizes, strict=True)) / sum(sizes)
    return (1 - _WORST) * mean + _WORST * min(claim.score for claim in found)


def _distinct(each: Sequence[Sequence[str]]) -> list[str]:
    return list(dict.fromkeys(name for names in each for name in names))


def find_supporting_passages(answer: str, passages: Sequence[Passage]) -> tuple[Passage, ...]:
    """The passages that an answer without citations rests on: for each sentence the one that has most of its words."""
    known = [(stems(passage.text, passage.lang), passage.lang) for passage in passages]
    lang = query_language(answer, [passage.lang for passage in passages])
    chosen = set()
    for sentence in split_sentences(_CITATION.sub("", answer)):
        words = content_words(sentence, lang)
        shares = [_share(words, *each) for each in known] if words else []
        if shares and max(shares) >= _RESTS:
            chosen.add(shares.index(max(shares)))
    return tuple(passages[index] for index in sorted(chosen))


def _share(words: Sequence[str], known: dict[str, int], lang: str) -> float:
    return sum(stem(word, lang) in known for word in words) / len(words)
