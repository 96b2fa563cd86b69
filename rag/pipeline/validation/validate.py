"""Step: answer and context -> does the context support the answer (agent contract, GroundingValidatorTool)."""

from collections.abc import Sequence

from rag.text import citation_markers
from rag.text.question_language import query_language
from rag.text.sentences.split_sentences import split_sentences
from rag.text.words import content_words, stem, stems
from rag.types import CheckedSentence, Passage, Validation

from .claims import Claim, score_claims

# Minimum score of a supported sentence, and of a valid answer (docs/decisions/0030-answer-validation.md).
_MIN_SENTENCE_SCORE = 0.55
_MIN_ANSWER_SCORE = 0.55
# Weight of the worst sentence; the mean of all sentences has the rest.
_WORST_WEIGHT = 0.42
# Minimum share of a sentence's words that a supporting passage must contain.
_MIN_SHARE_OF_WORDS = 0.5
_MAX_LISTED_TERMS = 10


def validate_answer(answer: str, context: str, langs: Sequence[str] = ()) -> Validation:
    """Check each sentence of an answer by its words, token vectors, names and numbers.

    A number that the context does not contain makes its sentence unsupported and the answer invalid.

    Args:
        answer: The text to check; citations such as [1] are ignored.
        context: The text that must support it.
        langs: The languages of the context, as documents declare them.
    """
    return summarize_claims(answer, find_claims(answer, context, langs))


def find_claims(answer: str, context: str, langs: Sequence[str] = ()) -> list[Claim]:
    """Return the sentences of an answer that state something, with their scores.

    Args:
        answer: The text to check; citations such as [1] are ignored.
        context: The text that must support it.
        langs: The languages of the context, as documents declare them.
    """
    return score_claims(citation_markers.blank_markers(answer), context, query_language(answer, langs))


def summarize_claims(answer: str, claims: Sequence[Claim]) -> Validation:
    """Decide by the scores of an answer's sentences, and by their numbers, whether it is valid."""
    score = _answer_score(claims)
    unknown_numbers = list(dict.fromkeys(number for claim in claims for number in claim.unknown_numbers))
    unknown_names = list(dict.fromkeys(name for claim in claims for name in claim.unknown_names))
    sentences = tuple(_checked_sentence(answer, claim) for claim in claims)
    supported_count = sum(sentence.is_supported for sentence in sentences)
    details = f"The context supports {supported_count} of {len(sentences)} sentences."
    if unknown_numbers:
        details += f" Numbers that it does not contain: {', '.join(unknown_numbers[:_MAX_LISTED_TERMS])}."
    if unknown_names:
        details += f" Names that it does not contain: {', '.join(unknown_names[:_MAX_LISTED_TERMS])}."
    return Validation(
        is_valid=bool(claims) and not unknown_numbers and score >= _MIN_ANSWER_SCORE,
        score=score,
        details=details,
        sentences=sentences,
    )


def _checked_sentence(answer: str, claim: Claim) -> CheckedSentence:
    return CheckedSentence(
        text=answer[claim.start : claim.end],
        start=claim.start,
        end=claim.end,
        is_supported=claim.score >= _MIN_SENTENCE_SCORE and not claim.unknown_numbers,
        score=claim.score,
        context_span=claim.context_span,
        unknown_terms=(*claim.unknown_numbers, *claim.unknown_names),
    )


def _answer_score(claims: Sequence[Claim]) -> float:
    """Combine the mean over all characters with the worst sentence, so that one bad sentence is not averaged out."""
    if not claims:
        return 0.0
    lengths = [claim.end - claim.start for claim in claims]
    mean = sum(claim.score * length for claim, length in zip(claims, lengths, strict=True)) / sum(lengths)
    return (1 - _WORST_WEIGHT) * mean + _WORST_WEIGHT * min(claim.score for claim in claims)


def find_supporting_passages(answer: str, passages: Sequence[Passage]) -> tuple[Passage, ...]:
    """Return the passages that support an answer without citations: for each sentence the one with most of its words.

    A sentence is ignored if no passage has at least half of its words.
    """
    stems_and_langs = [(stems(passage.text, passage.lang), passage.lang) for passage in passages]
    lang = query_language(answer, [passage.lang for passage in passages])
    supporting = set()
    for sentence in split_sentences(citation_markers.remove_markers(answer)):
        words = content_words(sentence, lang)
        if not words:
            continue
        shares = [
            _share_of_words(words, passage_stems, passage_lang) for passage_stems, passage_lang in stems_and_langs
        ]
        if shares and max(shares) >= _MIN_SHARE_OF_WORDS:
            supporting.add(shares.index(max(shares)))
    return tuple(passages[index] for index in sorted(supporting))


def _share_of_words(words: Sequence[str], passage_stems: dict[str, int], passage_lang: str) -> float:
    """Return the share of the words, 0…1, whose stems the passage contains."""
    return sum(stem(word, passage_lang) in passage_stems for word in words) / len(words)
