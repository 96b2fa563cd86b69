"""Selects the sentences of an extractive answer (docs/decisions/0028-extractive-answers.md)."""

import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence

from rag.text.words import split_words
from rag.types import Passage

from .quote_candidates import QuoteCandidate
from .sentence_similarity import SentenceSimilarity

# A sentence counts as at most this long; longer ones are cut when they are quoted.
MAX_SENTENCE_CHARACTERS = 600
_MAX_SENTENCES = 3
# A further sentence scores at most this much less than the best one, in standard deviations.
_MAX_SCORE_DIFFERENCE = 1.0
# Bonus for the words of the question that a further sentence adds, in standard deviations.
_NEW_WORDS_WEIGHT = 2.0
# Or it adds at least this share of the question's weighted words: it answers another part of the question.
_MIN_NEW_WORDS = 1 / 3
# Maximum length of all selected sentences together. The first one is selected whatever its length.
_MAX_TOTAL_CHARACTERS = 300
# Weight of a word in the headings above a sentence, relative to one in the sentence.
_HEADING_WEIGHT = 0.5


def select_candidates(
    candidates: Sequence[QuoteCandidate], passages: Sequence[Passage], similarity: SentenceSimilarity
) -> list[QuoteCandidate]:
    """Select the best candidate, and a few others that score similarly or add words of the question.

    Args:
        candidates: The candidates, in reading order.
        passages: The numbered passages of the prompt.
        similarity: The similarity of the candidates to the question; it may have no scores.

    Returns:
        The best candidate first; never empty if there are candidates.
    """
    weights = _word_weights(candidates)
    total_weight = sum(weights.values()) or 1.0
    scores = _scores(candidates, passages, weights, similarity)
    if not any(scores):  # all are alike: take the first sentence of the best passage
        return list(candidates[:1])
    min_score = max(scores) - _MAX_SCORE_DIFFERENCE
    selected: list[QuoteCandidate] = []
    missing_stems, quoted_words, remaining_characters = set(weights), set[str](), _MAX_TOTAL_CHARACTERS

    def new_share(index: int) -> float:
        """Return the weighted share of the question's words that this candidate would add."""
        return _total(weights, candidates[index].stems & missing_stems) / total_weight if selected else 0.0

    def value(index: int) -> float:
        return scores[index] + _NEW_WORDS_WEIGHT * new_share(index)

    remaining = list(range(len(candidates)))
    while len(selected) < _MAX_SENTENCES:
        eligible = [index for index in remaining if value(index) >= min_score or new_share(index) >= _MIN_NEW_WORDS]
        if not eligible:
            break
        best = max(eligible, key=lambda index: (value(index), -index))
        remaining.remove(best)
        candidate = candidates[best]
        words = _words(candidate, passages)
        if selected and (words <= quoted_words or _length(candidate) > remaining_characters):
            continue
        selected.append(candidate)
        missing_stems -= candidate.stems
        quoted_words |= words
        remaining_characters -= _length(candidate)
    return selected


def _word_weights(candidates: Sequence[QuoteCandidate]) -> dict[str, float]:
    """Return the inverse document frequency of each stem, with candidates as documents."""
    frequencies = Counter(stem for candidate in candidates for stem in candidate.stems | candidate.heading_stems)
    return {stem: math.log(1 + len(candidates) / frequency) for stem, frequency in frequencies.items()}


def _scores(
    candidates: Sequence[QuoteCandidate],
    passages: Sequence[Passage],
    weights: Mapping[str, float],
    similarity: SentenceSimilarity,
) -> list[float]:
    """Return the sum of the standard scores of words and of similarity. Unknown similarities count as average."""
    word_scores = [
        _total(weights, candidate.stems) + _HEADING_WEIGHT * _total(weights, candidate.heading_stems)
        for candidate in candidates
    ]
    similarities = [_similarity(candidate, passages, similarity) for candidate in candidates]
    known = [value for value in similarities if value is not None]
    average = sum(known) / len(known) if known else 0.0
    similarity_scores = [average if value is None else value for value in similarities]
    return [
        word_score + similarity_score
        for word_score, similarity_score in zip(_standardize(word_scores), _standardize(similarity_scores), strict=True)
    ]


def _similarity(candidate: QuoteCandidate, passages: Sequence[Passage], similarity: SentenceSimilarity) -> float | None:
    passage, unit = passages[candidate.passage_number - 1], candidate.unit
    return similarity.score(passage.document_id, passage.start + unit.start, passage.start + unit.end)


def _standardize(values: Sequence[float]) -> list[float]:
    """Return standard scores; zeros if all values are equal."""
    mean, deviation = (statistics.fmean(values), statistics.pstdev(values)) if values else (0.0, 0.0)
    return [(value - mean) / deviation if deviation > 1e-9 else 0.0 for value in values]


def _total(weights: Mapping[str, float], stems: frozenset[str]) -> float:
    # fsum does not depend on the order of a set, which differs from process to process.
    return math.fsum(weights[stem] for stem in stems)


def _length(candidate: QuoteCandidate) -> int:
    return min(MAX_SENTENCE_CHARACTERS, candidate.unit.end - candidate.unit.start)


def _words(candidate: QuoteCandidate, passages: Sequence[Passage]) -> set[str]:
    return set(split_words(candidate.text(passages), passages[candidate.passage_number - 1].lang))
