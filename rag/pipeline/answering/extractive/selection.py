"""Chooses the parts of passages that answer a question best."""

import math
import re
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence

from rag.text.words import split_words

from .candidates import QuoteCandidate, SectionHeading, find_candidates, find_headings
from .quotes import MAX_QUOTE_CHARACTERS
from .sentence_similarity import SentenceSimilarity
from .structure import PassageStructure

_MAX_PARTS = 3
# A further part scores at most this much less than the best one, in standard deviations.
_MAX_SCORE_DIFFERENCE = 1.0
# Bonus for the words of the question that a further part adds, in standard deviations.
_NEW_WORDS_WEIGHT = 2.0
# Or it adds at least this share of the question's weighted words: it answers another part of the question.
_MIN_NEW_WORDS = 1 / 3
# Maximum length of all selected parts together. The first one is selected whatever its length.
_MAX_TOTAL_CHARACTERS = 400
# Weight of a word in the headings above a part, relative to one in the part.
_HEADING_WEIGHT = 0.5
# From this match on, the beginning of a heading's section is the answer, up to this length.
_MIN_HEADING_MATCH = 0.75
_MAX_SECTION_START_CHARACTERS = 500
# Bonus for a part with a number if the question asks for one, in standard deviations.
_NUMBER_BONUS = 0.7
_ITEM_NUMBER = re.compile(r"\A\(?\d{1,3}[.)]\s")
# A part that shares this much of its words with a quoted one repeats it.
_MIN_REPEATED_WORDS = 0.8


def select_parts(
    structures: Sequence[PassageStructure],
    question_words: Sequence[str],
    similarity: SentenceSimilarity,
    *,
    is_number_expected: bool = False,
) -> dict[int, set[int]]:
    """Select the beginning of the section whose heading matches the question, or else the best parts.

    Args:
        structures: The structures of the numbered passages.
        question_words: The content words of the question.
        similarity: The similarity of the passages' parts to the question; it may have no scores.
        is_number_expected: Whether the question asks for a number, an amount or a time.

    Returns:
        For each passage number the indexes of the selected parts, each with the parts that it needs.
    """
    candidates = find_candidates(structures, question_words)
    headings = find_headings(structures)
    weights = _word_weights(candidates)
    selected: dict[int, set[int]] = {}
    matches = [_heading_match(heading, structures[heading.passage_number - 1], weights) for heading in headings]
    if max(matches, default=0.0) >= _MIN_HEADING_MATCH:
        best = headings[matches.index(max(matches))]
        structure = structures[best.passage_number - 1]
        start = structure.section_start(best.index, _MAX_SECTION_START_CHARACTERS)
        selected[best.passage_number] = set().union(*(structure.complete(index) for index in start))
        return selected
    for candidate in _select_candidates(
        candidates, structures, weights, similarity, is_number_expected=is_number_expected
    ):
        structure = structures[candidate.passage_number - 1]
        selected.setdefault(candidate.passage_number, set()).update(structure.complete(candidate.index))
    return selected


def _heading_match(heading: SectionHeading, structure: PassageStructure, weights: Mapping[str, float]) -> float:
    """Return how well a heading matches the question, 0…1: the harmonic mean of the shares of shared words.

    Words of the document's title say which document is meant, so the heading need not repeat them.
    """
    shared = frozenset(weights) & heading.stems
    expected = frozenset(weights) - (structure.title_stems - heading.stems) if shared else frozenset(weights)
    unknown_weight = max(weights.values(), default=0.0)
    total = _total(weights, expected) + math.fsum(weights.get(stem, unknown_weight) for stem in heading.stems)
    return 2 * _total(weights, shared) / total if total else 0.0


def _select_candidates(
    candidates: Sequence[QuoteCandidate],
    structures: Sequence[PassageStructure],
    weights: Mapping[str, float],
    similarity: SentenceSimilarity,
    *,
    is_number_expected: bool,
) -> list[QuoteCandidate]:
    """Select the best candidate, and a few others that score similarly or add words of the question."""
    total_weight = math.fsum(weights.values()) or 1.0
    scores = _scores(candidates, structures, weights, similarity, is_number_expected=is_number_expected)
    if not any(scores):  # all are alike: take the first part of the best passage
        return list(candidates[:1])
    min_score = max(scores) - _MAX_SCORE_DIFFERENCE
    selected: list[QuoteCandidate] = []
    quoted: list[frozenset[str]] = []
    missing_stems, remaining_characters = set(weights), _MAX_TOTAL_CHARACTERS

    def new_share(index: int) -> float:
        """Return the weighted share of the question's words that this candidate would add."""
        return _total(weights, candidates[index].stems & missing_stems) / total_weight if selected else 0.0

    def value(index: int) -> float:
        return scores[index] + _NEW_WORDS_WEIGHT * new_share(index)

    remaining = list(range(len(candidates)))
    while len(selected) < _MAX_PARTS:
        eligible = [index for index in remaining if value(index) >= min_score or new_share(index) >= _MIN_NEW_WORDS]
        if not eligible:
            break
        best = max(eligible, key=lambda index: (value(index), -index))
        remaining.remove(best)
        candidate = candidates[best]
        structure = structures[candidate.passage_number - 1]
        words = frozenset(split_words(structure.text(candidate.index), structure.passage.lang))
        length = _length(structure, candidate)
        if selected and (_is_repeated(words, quoted) or length > remaining_characters):
            continue
        selected.append(candidate)
        missing_stems -= candidate.stems
        quoted.append(words)
        remaining_characters -= length
    return selected


def _is_repeated(words: frozenset[str], quoted: Sequence[frozenset[str]]) -> bool:
    """Return whether the quoted parts have all of the words, or one has nearly all of them and all numbers."""
    return words <= frozenset[str]().union(*quoted) or any(
        len(words & known) >= _MIN_REPEATED_WORDS * len(words)
        and not any(character.isdigit() for word in words - known for character in word)
        for known in quoted
    )


def _word_weights(candidates: Sequence[QuoteCandidate]) -> dict[str, float]:
    """Return the inverse document frequency of each stem, with candidates as documents."""
    frequencies = Counter(stem for candidate in candidates for stem in candidate.stems | candidate.heading_stems)
    return {stem: math.log(1 + len(candidates) / frequency) for stem, frequency in frequencies.items()}


def _scores(
    candidates: Sequence[QuoteCandidate],
    structures: Sequence[PassageStructure],
    weights: Mapping[str, float],
    similarity: SentenceSimilarity,
    *,
    is_number_expected: bool,
) -> list[float]:
    """Return the sum of the standard scores of words and of similarity. Unknown similarities count as average."""
    word_scores = [
        _total(weights, candidate.stems) + _HEADING_WEIGHT * _total(weights, candidate.heading_stems)
        for candidate in candidates
    ]
    similarities = [_similarity(candidate, structures, similarity) for candidate in candidates]
    known = [value for value in similarities if value is not None]
    average = sum(known) / len(known) if known else 0.0
    similarity_scores = [average if value is None else value for value in similarities]
    number_bonuses = [
        _NUMBER_BONUS if is_number_expected and _has_number(structures, candidate) else 0.0 for candidate in candidates
    ]
    return [
        sum(scores)
        for scores in zip(_standardize(word_scores), _standardize(similarity_scores), number_bonuses, strict=True)
    ]


def _has_number(structures: Sequence[PassageStructure], candidate: QuoteCandidate) -> bool:
    text = structures[candidate.passage_number - 1].text(candidate.index)
    return any(character.isdigit() for character in _ITEM_NUMBER.sub("", text))


def _similarity(
    candidate: QuoteCandidate, structures: Sequence[PassageStructure], similarity: SentenceSimilarity
) -> float | None:
    structure = structures[candidate.passage_number - 1]
    passage, part = structure.passage, structure.parts[candidate.index]
    return similarity.score(passage.document_id, passage.start + part.start, passage.start + part.end)


def _standardize(values: Sequence[float]) -> list[float]:
    """Return standard scores; zeros if all values are equal."""
    mean, deviation = (statistics.fmean(values), statistics.pstdev(values)) if values else (0.0, 0.0)
    return [(value - mean) / deviation if deviation > 1e-9 else 0.0 for value in values]


def _total(weights: Mapping[str, float], stems: frozenset[str]) -> float:
    # fsum does not depend on the order of a set, which differs from process to process.
    return math.fsum(weights[stem] for stem in stems)


def _length(structure: PassageStructure, candidate: QuoteCandidate) -> int:
    part = structure.parts[candidate.index]
    return min(MAX_QUOTE_CHARACTERS, part.end - part.start)
