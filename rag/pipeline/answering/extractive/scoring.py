"""Scores the parts of passages as answers to a question."""

import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence

from rag.text.quotable_units import UnitKind
from rag.text.words import split_words, stem

from .answer_candidates import QuoteCandidate
from .expected_answers import has_expected
from .passage_parts import split_cells
from .question_type import AnalysedQuestion
from .section_headings import SectionHeading, section_match
from .self_contained_parts import PassageStructure
from .sentence_similarity import SentenceSimilarity

# Weight of a word in the headings above a part, relative to one in the part.
_HEADING_WEIGHT = 0.5
# Bonus for a part with what the question asks for, such as a time, in standard deviations.
_EXPECTED_BONUS = 1.2
# Weight of the match of a part's section with the question, in standard deviations.
_SECTION_WEIGHT = 1.0
# Bonus for a part that begins with the term that the question wants to have defined, in standard deviations.
_DEFINITION_BONUS = 1.5
# The term is among so many first words: "The _content_ of a document is ..." is no definition of a document.
_MAX_WORDS_BEFORE_TERM = 1
_MAX_TERM_CHARACTERS = 120
# Penalty for "Yes, …" where the question asks how, what or when, in standard deviations.
_YES_OR_NO_PENALTY = 2.0


def word_weights(candidates: Sequence[QuoteCandidate]) -> dict[str, float]:
    """Return the inverse document frequency of each stem of the question, with candidates as documents."""
    frequencies = Counter(stem for candidate in candidates for stem in candidate.stems | candidate.heading_stems)
    return {stem: math.log(1 + len(candidates) / frequency) for stem, frequency in frequencies.items()}


def score_candidates(
    candidates: Sequence[QuoteCandidate],
    structures: Sequence[PassageStructure],
    weights: Mapping[str, float],
    similarity: SentenceSimilarity,
    headings: Sequence[SectionHeading],
    question: AnalysedQuestion,
) -> list[float]:
    """Return the score of each candidate: the sum of the standard scores of its words and its similarity, and bonuses.

    Unknown similarities count as average.
    """
    word_scores = [
        total(weights, candidate.stems) + _HEADING_WEIGHT * total(weights, candidate.heading_stems)
        for candidate in candidates
    ]
    similarities = [_similarity(candidate, structures, similarity) for candidate in candidates]
    known = [value for value in similarities if value is not None]
    average = sum(known) / len(known) if known else 0.0
    similarity_scores = [average if value is None else value for value in similarities]
    bonuses = [
        _SECTION_WEIGHT * section_match(structures, candidate.passage_number, candidate.index, headings)
        + _expected_bonus(structures, candidate, question)
        - (0.0 if question.accepts(_text(structures, candidate)) else _YES_OR_NO_PENALTY)
        + (_DEFINITION_BONUS if question.term and _defines(structures, candidate, question.term) else 0.0)
        for candidate in candidates
    ]
    columns = _standardize(word_scores), _standardize(similarity_scores), bonuses
    return [sum(scores) for scores in zip(*columns, strict=True)]


def _expected_bonus(
    structures: Sequence[PassageStructure], candidate: QuoteCandidate, question: AnalysedQuestion
) -> float:
    if question.expected is None:
        return 0.0
    return _EXPECTED_BONUS if has_expected(_text(structures, candidate), question.expected) else 0.0


def _text(structures: Sequence[PassageStructure], candidate: QuoteCandidate) -> str:
    return structures[candidate.passage_number - 1].text(candidate.index)


def _defines(structures: Sequence[PassageStructure], candidate: QuoteCandidate, term: str) -> bool:
    """Return whether a part begins with a term, after an article at most, or a row with a cell of the term's words."""
    structure = structures[candidate.passage_number - 1]
    lang = structure.passage.lang
    sought = [stem(word, lang) for word in split_words(term, lang)]
    if structure.parts[candidate.index].kind is UnitKind.ROW:  # "What does the status sent mean?"
        cell = split_cells(structure.text(candidate.index)[:_MAX_TERM_CHARACTERS])[0]
        cell_stems = {stem(word, lang) for word in split_words(cell, lang)}
        return bool(cell_stems) and cell_stems <= set(sought)
    words = split_words(structure.text(candidate.index)[:_MAX_TERM_CHARACTERS], lang)
    first_stems = [stem(word, lang) for word in words]
    return any(first_stems[skip : skip + len(sought)] == sought for skip in range(_MAX_WORDS_BEFORE_TERM + 1)) and bool(
        sought
    )


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


def total(weights: Mapping[str, float], stems: frozenset[str]) -> float:
    """Return the sum of the weights of these stems."""
    # fsum does not depend on the order of a set, which differs from process to process.
    return math.fsum(weights[stem] for stem in stems)
