"""Chooses the parts of passages that answer a question best."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rag.pipeline.answering.extractive.parts.needed_parts import PassageStructure
from rag.pipeline.answering.extractive.parts.neighbouring_parts import (
    rest_of_section,
    section_beginning,
    with_first_steps,
    without_lone_lead_ins,
)
from rag.pipeline.answering.extractive.parts.repetitions import is_repeated, without_repetitions, words_of
from rag.pipeline.answering.extractive.question.answer_types import has_answer_of_type
from rag.pipeline.answering.extractive.question.question_type import AnalysedQuestion
from rag.pipeline.answering.extractive.scores.answer_candidates import QuoteCandidate, find_candidates
from rag.pipeline.answering.extractive.scores.scoring import score_candidates, total, word_weights
from rag.pipeline.answering.extractive.scores.section_headings import SectionHeading, find_headings
from rag.pipeline.answering.extractive.scores.sentence_similarity import SentenceSimilarity
from rag.pipeline.retrieval.reranking.title_and_heading_similarity import logit
from rag.text.markup.titles.faq_questions import QUESTION_ENDINGS

from .changed_statements import select_changed_statement
from .compared_subjects import names_both, select_comparison
from .extend_quote import MAX_SECOND, quote_limit, with_all_steps, with_second_part, with_section, with_surroundings
from .matching_row import find_matching_row
from .second_best_parts import second_best_parts
from .subsections import with_subsections

# A part elsewhere is quoted, too, only if the question asks two things, the part adds at least this share of the
# question's weighted words, and its score is not far below average: then it answers the second question. Of fewer parts
# than these the average says too little to be compared with.
_MAX_CANDIDATES = 2
_MIN_NEW_WORDS, _MIN_SECOND_SCORE, _MIN_COMPARED = 1 / 3, -1.1, 10
# Maximum length of all selected candidates together. The first one is selected whatever its length.
_MAX_TOTAL_CHARACTERS = 400
# From this match on, the beginning of a heading's section is the answer. If the best part is in a passage that the
# search ranks higher, the heading needs the second match, and the third if that passage is far more relevant: from this
# difference of the relevances' logits on.
_MIN_HEADING_MATCH, _MIN_MATCH_LATER, _MIN_MATCH_FAR = 0.70, 0.80, 0.85
_MIN_FAR_DIFFERENCE = 1.5
# A heading that is a question, in the best passage, needs this much less: the search has chosen its section.
_BEST_PASSAGE_BONUS = 0.12
# But a heading elsewhere that says the same as the question is better than one that has some more words.
_MAX_PREFERRED_MATCH = 0.95


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
    section = _select_section(headings, structures, question, candidates, scores)
    in_section = section.parts if section else None
    if change := select_changed_statement(in_section, candidates, scores, structures, question):
        return Selection(*change)
    if section:
        return section
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


def _select_section(
    headings: Sequence[SectionHeading],
    structures: Sequence[PassageStructure],
    question: AnalysedQuestion,
    candidates: Sequence[QuoteCandidate],
    scores: Sequence[float],
) -> Selection | None:
    """Select the section whose heading matches best; None if no heading matches well enough."""
    sections = [heading for heading in headings if _accepts_section(heading, structures, question)]
    section = max(sections, key=lambda heading: _section_match(heading, structures, question), default=None)
    if section is None:
        return None
    best_candidate, _ = max(zip(candidates, scores, strict=True), key=lambda scored: scored[1])
    if _section_match(section, structures, question) < _min_match(section, structures, best_candidate):
        return None
    structure = structures[section.passage_number - 1]
    if (row := find_matching_row(structure, section.index, question)) is not None:
        return Selection({section.passage_number: structure.complete(row)}, (section.passage_number, row))
    score_by_part = {
        candidate.index: score
        for candidate, score in zip(candidates, scores, strict=True)
        if candidate.passage_number == section.passage_number
    }
    best = max(score_by_part, key=lambda index: (score_by_part[index], -index), default=None)
    parts = section_beginning(structure, section.index, quote_limit(question), best)
    answer_type = question.answer_type
    if not parts or (answer_type and not any(has_answer_of_type(structure.text(part), answer_type) for part in parts)):
        return None
    if question.is_procedure and answer_type is None:
        parts = with_first_steps(structure, min(parts), parts, quote_limit(question))
    readable = without_lone_lead_ins(structure, with_all_steps(structure, parts, question))
    selected = {section.passage_number: without_repetitions(structure, readable)}
    return Selection(with_subsections(selected, structures, question))


def _min_match(
    section: SectionHeading, structures: Sequence[PassageStructure], best_candidate: QuoteCandidate
) -> float:
    """Return the match that a heading needs, where this is the best part."""
    if section.passage_number <= best_candidate.passage_number:
        return _MIN_HEADING_MATCH
    best, other = (
        logit(structures[number - 1].passage.relevance)
        for number in (best_candidate.passage_number, section.passage_number)
    )
    return _MIN_MATCH_FAR if best - other >= _MIN_FAR_DIFFERENCE else _MIN_MATCH_LATER


def _accepts_section(
    heading: SectionHeading, structures: Sequence[PassageStructure], question: AnalysedQuestion
) -> bool:
    """Return whether the first part of a section may answer this kind of question.

    If the question compares two things, the heading must name both.
    """
    structure = structures[heading.passage_number - 1]
    if question.compared and not names_both(
        structure.visible_text(heading.index), question.compared, structure.passage.lang
    ):
        return False
    beginning = sorted(section_beginning(structure, heading.index, 1))
    return not structure.is_fragment(beginning) and all(
        question.accepts(structure.text(part)) for part in beginning[:1]
    )


def _section_match(
    heading: SectionHeading, structures: Sequence[PassageStructure], question: AnalysedQuestion
) -> float:
    """Return how well a heading matches the question, where its section may be the whole answer.

    A question in the best passage has an advantage, unless a number is to be defined: tables and texts list those.
    """
    is_preferred = heading.passage_number == 1 and not question.term.isdigit()
    is_question = (
        structures[heading.passage_number - 1].visible_text(heading.index).rstrip(" #=*_").endswith(QUESTION_ENDINGS)
    )
    if not (is_preferred and is_question):
        return heading.match
    return max(heading.match, min(heading.match + _BEST_PASSAGE_BONUS, _MAX_PREFERRED_MATCH))


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
