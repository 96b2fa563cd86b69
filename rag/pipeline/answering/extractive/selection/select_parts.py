"""Chooses the parts of passages that answer a question best."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rag.pipeline.answering.extractive.parts.needed_parts import PassageStructure
from rag.pipeline.answering.extractive.parts.neighbouring_parts import rest_of_section
from rag.pipeline.answering.extractive.parts.repetitions import is_repeated, words_of
from rag.pipeline.answering.extractive.question.question_type import AnalysedQuestion
from rag.pipeline.answering.extractive.scores.answer_candidates import QuoteCandidate, find_candidates
from rag.pipeline.answering.extractive.scores.question_words import total, word_weights
from rag.pipeline.answering.extractive.scores.scoring import score_candidates
from rag.pipeline.answering.extractive.scores.section_headings import find_headings
from rag.pipeline.answering.extractive.scores.sentence_similarity import SentenceSimilarity

from .changed_statements import select_changed_statement
from .compared_subjects import select_comparison
from .extend_quote import MAX_SECOND, quote_limit, with_all_steps, with_second_part, with_section, with_surroundings
from .second_best_parts import second_best_parts
from .select_section import select_section
from .subsections import with_subsections

# A part elsewhere is quoted, too, only if the question asks two things, the part adds at least this share of the
# question's weighted words, and its score is not far below average: then it answers the second question. Of fewer parts
# than these the average says too little to be compared with.
_MAX_CANDIDATES = 2
_MIN_NEW_WORDS, _MIN_SECOND_SCORE, _MIN_COMPARED = 1 / 3, -1.1, 10
# Maximum length of all selected candidates together. The first one is selected whatever its length.
_MAX_TOTAL_CHARACTERS = 400


@dataclass(frozen=True, slots=True)
class Selection:
    """The parts that answer a question.

    Attributes:
        parts: For each passage number the indexes of the selected parts, each with the parts that it needs.
        best: The passage number and the index of the best part; None if the beginning of a section was selected.
    """

    parts: Mapping[int, set[int]]
    best: tuple[int, int] | None = None


def select_parts(
    structures: Sequence[PassageStructure], question: AnalysedQuestion, similarity: SentenceSimilarity
) -> Selection:
    """Select the beginning of the section whose heading matches the question, or else the best parts.

    Args:
        structures: The structures of the numbered passages.
        question: The question.
        similarity: The similarity of the passages' parts to the question; it may have no scores.
    """
    candidates = find_candidates(structures, question.words)
    weights = word_weights(candidates)
    headings = find_headings(structures, question, weights, similarity)
    scores = score_candidates(candidates, structures, weights, similarity, headings, question)
    scores = similarity.add_reading(scores, candidates, structures)
    section = select_section(headings, structures, question, candidates, scores, weights, similarity)
    in_section = section[0] if section else None
    if change := select_changed_statement(in_section, candidates, scores, structures, question):
        return Selection(*change)
    if section:
        return Selection(*section)
    comparison = select_comparison(question.compared, structures, candidates, scores) if question.compared else None
    if comparison:
        return Selection(*comparison)
    max_candidates = _MAX_CANDIDATES if question.asks_two_things else 1
    chosen = _select_candidates(candidates, structures, weights, scores, max_candidates)
    if not chosen:
        return Selection({})
    selected: dict[int, set[int]] = {}
    for candidate in chosen:
        limit = quote_limit(question) if candidate is chosen[0] else MAX_SECOND
        structure = structures[candidate.passage_number - 1]
        parts = with_surroundings(structure, candidate.index, question, limit)
        if candidate is chosen[0]:
            parts = with_section(structure, candidate.index, parts, question, weights)
            others = second_best_parts(candidates, scores, candidate, structure, parts)
            parts = with_second_part(structure, candidate.index, parts, others, question)
            parts = with_all_steps(structure, parts, question)
        selected.setdefault(candidate.passage_number, set()).update(parts)
    _add_following(selected, structures, chosen[0])
    if question.asks_about_answer and len(chosen) == 1:
        parts, structure = selected[chosen[0].passage_number], structures[chosen[0].passage_number - 1]
        parts |= rest_of_section(structure, parts, quote_limit(question))
    selected = with_subsections(selected, structures, question)
    number, quoted = chosen[0].passage_number, selected[chosen[0].passage_number]
    return Selection(selected, (number, chosen[0].index if chosen[0].index in quoted else min(quoted)))


def _add_following(
    selected: Mapping[int, set[int]], structures: Sequence[PassageStructure], best: QuoteCandidate
) -> None:
    """Add the sentences that follow the best one in its paragraph, as many as fit: they often complete it."""
    free_characters = _MAX_TOTAL_CHARACTERS - sum(
        structures[number - 1].length(index) for number, indexes in selected.items() for index in indexes
    )
    structure, quoted = structures[best.passage_number - 1], selected[best.passage_number]
    following = structure.next_sentence(best.index)
    while following is not None and structure.length(following) <= free_characters:
        if following not in quoted:
            if is_repeated(words_of(structure, following), [words_of(structure, index) for index in quoted]):
                break
            if not structure.continues(following):
                break
            free_characters -= structure.length(following)
            quoted.add(following)
        following = structure.next_sentence(following)


def _select_candidates(
    candidates: Sequence[QuoteCandidate],
    structures: Sequence[PassageStructure],
    weights: Mapping[str, float],
    scores: Sequence[float],
    max_candidates: int,
) -> list[QuoteCandidate]:
    """Select the best candidates: after the first one only those that add enough other words of the question.

    Args:
        candidates: The candidates.
        structures: The structures of the numbered passages.
        weights: The weight of each stem of the question.
        scores: The score of each candidate.
        max_candidates: How many are selected at most.
    """
    if not any(scores):  # nothing tells them apart: take the first one, from the best passage
        return list(candidates[:1])
    total_weight = math.fsum(weights.values()) or 1.0
    selected: list[QuoteCandidate] = []
    quoted_words: list[frozenset[str]] = []
    uncovered_stems, free_characters = set(weights), _MAX_TOTAL_CHARACTERS
    min_score = _MIN_SECOND_SCORE if len(candidates) >= _MIN_COMPARED else -math.inf
    for index in sorted(range(len(candidates)), key=lambda index: (-scores[index], index)):
        candidate = candidates[index]
        structure = structures[candidate.passage_number - 1]
        words, length = words_of(structure, candidate.index), structure.length(candidate.index)
        new_word_share = total(weights, candidate.stems & uncovered_stems) / total_weight
        if selected and (
            new_word_share < _MIN_NEW_WORDS
            or scores[index] < min_score
            or is_repeated(words, quoted_words)
            or length > free_characters
        ):
            continue
        selected.append(candidate)
        uncovered_stems -= candidate.stems
        quoted_words.append(words)
        free_characters -= length
        if len(selected) == max_candidates:
            break
    return selected
