"""Chooses the section whose heading matches the question, as far as its beginning answers it."""

from collections.abc import Mapping, Sequence

from rag.pipeline.answering.extractive.parts.needed_parts import PassageStructure
from rag.pipeline.answering.extractive.parts.neighbouring_parts import (
    section_beginning,
    with_first_steps,
    without_lone_lead_ins,
)
from rag.pipeline.answering.extractive.parts.repetitions import without_repetitions
from rag.pipeline.answering.extractive.question.answer_types import has_answer_of_type
from rag.pipeline.answering.extractive.question.question_type import AnalysedQuestion
from rag.pipeline.answering.extractive.scores.answer_candidates import QuoteCandidate
from rag.pipeline.answering.extractive.scores.question_words import total
from rag.pipeline.answering.extractive.scores.section_headings import SectionHeading
from rag.pipeline.answering.extractive.scores.sentence_similarity import SentenceSimilarity
from rag.pipeline.retrieval.reranking.title_and_heading_similarity import logit
from rag.text.markup.titles.faq_questions import QUESTION_ENDINGS

from .compared_subjects import names_both
from .extend_quote import quote_limit, with_all_steps
from .matching_row import find_matching_row
from .subsections import with_subsections

# From this match on, the beginning of a heading's section is the answer. If the best part is in a passage that the
# search ranks higher, the heading needs the second match, and the third if that passage is far more relevant: from this
# difference of the relevances' logits on.
_MIN_HEADING_MATCH, _MIN_MATCH_LATER, _MIN_MATCH_FAR = 0.70, 0.80, 0.85
_MIN_FAR_DIFFERENCE = 1.5
# A heading that is a question, in the best passage, needs this much less: the search has chosen its section.
_BEST_PASSAGE_BONUS = 0.12
# But a heading elsewhere that says the same as the question is better than one that has some more words.
_MAX_PREFERRED_MATCH = 0.95


def select_section(
    headings: Sequence[SectionHeading],
    structures: Sequence[PassageStructure],
    question: AnalysedQuestion,
    candidates: Sequence[QuoteCandidate],
    scores: Sequence[float],
    weights: Mapping[str, float],
    similarity: SentenceSimilarity,
) -> tuple[dict[int, set[int]], tuple[int, int] | None] | None:
    """Select the beginning of the section whose heading matches best.

    Args:
        headings: The headings of the passages' sections.
        structures: The structures of the numbered passages.
        question: The question.
        candidates: The candidates.
        scores: The score of each candidate.
        weights: The weight of each stem of the question.
        similarity: The similarity of the passages' parts to the question; it may have no scores.

    Returns:
        The indexes of the parts by passage number, and the row that answers the question, if it is one; None if no
        heading matches well enough, or if the best part would not be quoted and has more of the question's words.
    """
    sections = [heading for heading in headings if _accepts_section(heading, structures, question)]
    section = max(sections, key=lambda heading: _section_match(heading, structures, question), default=None)
    if section is None:
        return None
    best_candidate, _ = max(zip(candidates, scores, strict=True), key=lambda scored: scored[1])
    if _section_match(section, structures, question) < _min_match(section, structures, best_candidate):
        return None
    structure = structures[section.passage_number - 1]
    if (row := find_matching_row(structure, section.index, question)) is not None:
        return {section.passage_number: structure.complete(row)}, (section.passage_number, row)
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
    quoted = [item for item in candidates if item.passage_number == section.passage_number and item.index in parts]
    if _is_surpassed(quoted, best_candidate, structures, weights, similarity):
        return None
    if question.is_procedure and answer_type is None:
        parts = with_first_steps(structure, min(parts), parts, quote_limit(question))
    readable = without_lone_lead_ins(structure, with_all_steps(structure, parts, question))
    selected = {section.passage_number: without_repetitions(structure, readable)}
    return with_subsections(selected, structures, question), None


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


def _is_surpassed(
    quoted: Sequence[QuoteCandidate],
    best: QuoteCandidate,
    structures: Sequence[PassageStructure],
    weights: Mapping[str, float],
    similarity: SentenceSimilarity,
) -> bool:
    """Return whether the best part would not be quoted, and has more of the question's words.

    It must be below the same heading, or in another passage: within a passage the heading decides. Both parts also have
    the words of the headings above them. "Do I need an API key in the browser?" is similar to a question about HTTPS
    for API keys, but does not mention it; and "When are you open?" is answered for one branch first. Where no
    similarity is known, this says nothing: the best part is then the one that has most of the words.

    Args:
        quoted: The parts of the section that would be quoted.
        best: The best part of all passages.
        structures: The structures of the numbered passages.
        weights: The weight of each stem of the question.
        similarity: The similarity of the passages' parts to the question.
    """
    if not quoted or best in quoted:
        return False
    structure = structures[best.passage_number - 1]
    is_same_passage = best.passage_number == quoted[0].passage_number
    if is_same_passage and structure.heading_index(best.index) != structure.heading_index(quoted[0].index):
        return False
    part, offset = structure.parts[best.index], structure.passage.start
    if similarity.score_both_ways(structure.passage.document_id, offset + part.start, offset + part.end) is None:
        return False
    stems = frozenset[str]().union(*(item.stems | item.heading_stems for item in quoted))
    return total(weights, stems) < total(weights, best.stems | best.heading_stems)


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
