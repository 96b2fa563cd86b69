"""Scores the parts of passages as answers to a question."""

import math
import statistics
from collections.abc import Mapping, Sequence

import numpy as np

from rag.pipeline.answering.extractive.parts.needed_parts import PassageStructure
from rag.pipeline.answering.extractive.parts.pointing_sentences import mostly_points
from rag.pipeline.answering.extractive.parts.split_into_parts import SENTENCE_ENDINGS
from rag.pipeline.answering.extractive.question.answer_patterns import AnswerType
from rag.pipeline.answering.extractive.question.answer_types import counts_together, has_amount, has_answer_of_type
from rag.pipeline.answering.extractive.question.question_type import AnalysedQuestion
from rag.pipeline.retrieval.reranking.title_and_heading_similarity import logit
from rag.text.sentences.quotable_units import UnitKind
from rag.text.sentences.unspaced_scripts import count_words
from rag.types.token_vectors import TokenVectors

from .answer_candidates import QuoteCandidate
from .other_editions import find_parts_of_other_editions
from .part_subjects import begins_with_term, find_best_named_rows, find_rarest_code, names_row
from .question_words import total
from .rows_by_amount import rows_by_amount
from .section_headings import SectionHeading, section_match
from .sentence_similarity import SentenceSimilarity, highest

# Weight of a word in the headings above a part, relative to one in the part.
_HEADING_WEIGHT = 0.5
# Bonus for a part with what the question asks for, such as a time, in standard deviations.
_EXPECTED_BONUS = 1.2
# The same for a number: a part without one says something else about what is counted.
_NUMBER_BONUS = 6.0
_NUMBER_TYPES = frozenset({AnswerType.NUMBER, AnswerType.VERSION})
# Bonus for a number with all words for what the question counts behind it, in standard deviations.
_COUNT_BONUS = 1.5
# Bonus for a number if the question asks for the amount of something.
_AMOUNT_BONUS = 2.0
# Bonus if it is a short row or item, such as "tank | 1.2 litres": it has hardly anything else.
_ENTRY_BONUS = 1.0
_MAX_ENTRY_WORDS = 8
# Weight of the match of a part's section with the question, in standard deviations.
_SECTION_WEIGHT = 1.0
# Bonus for a part that begins with the term that the question wants to have defined, in standard deviations.
_DEFINITION_BONUS = 1.5
# Bonus for a row of a table whose first cell the question names, in standard deviations.
_SUBJECT_BONUS = 1.0
# Bonus for the rows of which the question names most cells, in standard deviations.
_IDENTIFIED_BONUS = 3.0
# Bonus for a row whose range has an amount of the question (True), and penalty for the other rows with a range (False).
_RANGE_BONUSES = {True: 2.0, False: -2.0, None: 0.0}
# The similarity of the headings above a part to the question counts nearly as much as that of the part itself.
_HEADING_SIMILARITY = np.float32(0.9)
# Weights of the standard scores: of a part's similarity to the question together with the headings above it, of the
# similarity of its paragraph or list, and of its similarity alone, both ways.
_SIMILARITY_WEIGHT, _PARAGRAPH_WEIGHT, _BOTH_WAYS_WEIGHT = 1.5, 0.8, 0.25
# The weight of the words if no candidate has a similarity, because no token signatures are stored.
_WORDS_ALONE_WEIGHT = 1.0
# Penalty for parts of less relevant passages, in standard deviations, by the logits of the relevances: their difference
# from the best one, up to a maximum. Relevances themselves differ little where the search is sure.
_RELEVANCE_WEIGHT, _MAX_RELEVANCE_DIFFERENCE = 1.0, 3.0
# Bonus for a part of the best passage, in standard deviations.
_BEST_PASSAGE_BONUS = 0.8
# Penalties for a sentence that says too little alone, for text without the end of a sentence, and if that is a line as
# at the top of a letter, in standard deviations.
_SHORT_PENALTY, _FRAGMENT_PENALTY, _LINE_PENALTY = 1.0, 1.0, 2.0
_MIN_WORDS, _MAX_LINE_WORDS = 4, 25
# Bonus for a part with the rarest code of the question, such as E-12, in standard deviations.
_CODE_BONUS = 4.0
# Bonus for the first paragraph of a section, and for steps and commands if the question asks how something is done.
_START_BONUS = 0.8
_PROCEDURE_BONUS = 0.5
# Penalty for "Yes, …" where the question asks how, what or when, in standard deviations.
_YES_OR_NO_PENALTY = 2.0
# Penalty for a sentence that only says where to read on, in standard deviations.
_POINTER_PENALTY = 2.0
# Penalty for a part of last year's document if one of the year of the question was found, in standard deviations.
_OTHER_EDITION_PENALTY = 3.0
# Penalty for the lines above a mail if the question is not about the mail itself, in standard deviations.
_MAIL_HEADER_PENALTY = 5.0
# Penalty for what a mail quotes of earlier ones, in standard deviations.
_QUOTED_MAIL_PENALTY = 1.0


def score_candidates(
    candidates: Sequence[QuoteCandidate],
    structures: Sequence[PassageStructure],
    weights: Mapping[str, float],
    similarity: SentenceSimilarity,
    headings: Sequence[SectionHeading],
    question: AnalysedQuestion,
) -> list[float]:
    """Return the score of each candidate: the sum of the standard scores of its words and similarities, and bonuses.

    Unknown similarities count as average.

    Args:
        candidates: The candidates.
        structures: The structures of the numbered passages.
        weights: The weight of each stem of the question.
        similarity: The similarity of the passages' parts to the question.
        headings: The headings of the passages' sections.
        question: The question.
    """
    penalties = _relevance_penalties(structures)
    identified = find_best_named_rows(candidates, structures, question)
    candidates_with_code = find_rarest_code(candidates, structures, question.codes)
    by_amount = [rows_by_amount(structure, question.amounts) for structure in structures]
    word_scores = [
        total(weights, candidate.stems) + _HEADING_WEIGHT * total(weights, candidate.heading_stems)
        for candidate in candidates
    ]
    named = [names_row(structures, candidate, question.short_tokens) for candidate in candidates]
    of_other_editions = find_parts_of_other_editions(candidates, structures, question.words)
    bonuses = [
        _SECTION_WEIGHT * section_match(structures, candidate.passage_number, candidate.index, headings)
        - penalties[candidate.passage_number - 1]
        + (_BEST_PASSAGE_BONUS if candidate.passage_number == 1 else 0.0)
        + _form_bonus(structures[candidate.passage_number - 1], candidate.index, question)
        + (_CODE_BONUS if (candidate.passage_number, candidate.index) in candidates_with_code else 0.0)
        + (_DEFINITION_BONUS if question.term and begins_with_term(structures, candidate, question.term) else 0.0)
        + (_SUBJECT_BONUS if is_named else 0.0)
        + (_IDENTIFIED_BONUS if (candidate.passage_number, candidate.index) in identified else 0.0)
        + (0.0 if any(named) else _RANGE_BONUSES[by_amount[candidate.passage_number - 1].get(candidate.index)])
        - (_OTHER_EDITION_PENALTY if is_of_other_edition else 0.0)
        for candidate, is_named, is_of_other_edition in zip(candidates, named, of_other_editions, strict=True)
    ]
    token_scores = [_token_scores(candidate, structures, similarity) for candidate in candidates]
    is_compared = any(scores is not None for scores in token_scores)
    columns = (
        _standardize(word_scores, similarity.words_weight if is_compared else _WORDS_ALONE_WEIGHT),
        _standardize(_maxsims(token_scores, similarity), _SIMILARITY_WEIGHT),
        _standardize(_paragraphs(candidates, structures, similarity, token_scores), _PARAGRAPH_WEIGHT),
        _standardize(_scores_both_ways(candidates, structures, similarity), _BOTH_WAYS_WEIGHT),
        bonuses,
    )
    return [sum(scores) for scores in zip(*columns, strict=True)]


def _relevance_penalties(structures: Sequence[PassageStructure]) -> list[float]:
    """Return the penalty for parts of each passage."""
    logits = [logit(structure.passage.relevance) for structure in structures]
    best = max(logits, default=0.0)
    return [_RELEVANCE_WEIGHT * min(_MAX_RELEVANCE_DIFFERENCE, best - value) for value in logits]


def _scores_both_ways(
    candidates: Sequence[QuoteCandidate], structures: Sequence[PassageStructure], similarity: SentenceSimilarity
) -> list[float]:
    """Return the similarity of each candidate alone and the question, both ways; the mean for those without one."""
    scores = []
    for candidate in candidates:
        structure = structures[candidate.passage_number - 1]
        part, offset = structure.parts[candidate.index], structure.passage.start
        span = offset + part.start, offset + part.end
        scores.append(similarity.score_both_ways(structure.passage.document_id, *span))
    known = [score for score in scores if score is not None]
    average = statistics.fmean(known) if known else 0.0
    return [average if score is None else score for score in scores]


def _paragraphs(
    candidates: Sequence[QuoteCandidate],
    structures: Sequence[PassageStructure],
    similarity: SentenceSimilarity,
    vectors: Sequence[TokenVectors | None],
) -> list[float]:
    """Return the similarity to the question of what is read together with each candidate; the mean if it is unknown.

    Args:
        candidates: The candidates.
        structures: The structures of the numbered passages.
        similarity: The similarity of the passages' parts to the question.
        vectors: The token scores of each candidate with the headings above it.
    """
    by_group: dict[tuple[int, int], TokenVectors | None] = {}
    combined: list[TokenVectors | None] = []
    for candidate, vector in zip(candidates, vectors, strict=True):
        structure = structures[candidate.passage_number - 1]
        group = structure.group_of(candidate.index)
        key = candidate.passage_number, group[0]
        if key not in by_group:
            offset = structure.passage.start
            span = offset + structure.parts[group[0]].start, offset + structure.parts[group[-1]].end
            by_group[key] = similarity.token_scores(structure.passage.document_id, *span)
        combined.append(highest([scores for scores in (by_group[key], vector) if scores is not None]))
    return _maxsims(combined, similarity)


def _maxsims(vectors: Sequence[TokenVectors | None], similarity: SentenceSimilarity) -> list[float]:
    """Return the weighted MaxSim of each candidate; the mean for those without vectors."""
    known = [vector for vector in vectors if vector is not None]
    if not known:
        return [0.0] * len(vectors)
    average = np.mean(known, axis=0)
    scores = np.array([average if vector is None else vector for vector in vectors])
    weights = similarity.token_weights
    return [float(score) for score in (scores.mean(axis=1) if weights is None else scores @ weights)]


def _token_scores(
    candidate: QuoteCandidate, structures: Sequence[PassageStructure], similarity: SentenceSimilarity
) -> TokenVectors | None:
    """Return the best similarities of the question's tokens to a part, the headings above it and its lead-in.

    Of a row of a table also those to the names of its columns.
    """
    structure = structures[candidate.passage_number - 1]
    document_id, offset = structure.passage.document_id, structure.passage.start
    part = structure.parts[candidate.index]
    scores = similarity.token_scores(document_id, offset + part.start, offset + part.end)
    if scores is None:
        return None
    vectors: list[TokenVectors] = [scores]
    above = similarity.heading_scores(document_id, offset + part.start, offset + part.end)
    if above is not None:
        vectors.append(above * _HEADING_SIMILARITY)
    headings = (structure.heading_index(candidate.index), structure.lead_in(candidate.index))
    spans = [structure.visible_span(index) for index in headings if index is not None]
    if (columns := structure.header_span(candidate.index)) is not None:
        spans.append(columns)
    inner = [similarity.token_scores(document_id, *span) for span in spans]
    vectors += [scores * _HEADING_SIMILARITY for scores in inner if scores is not None]
    return highest(vectors)


def _form_bonus(structure: PassageStructure, index: int, question: AnalysedQuestion) -> float:
    """Return how well the form of a part suits the kind of question, in standard deviations."""
    text = structure.text(index)
    groups, group = structure.sections[structure.section_of(index)], structure.group_of(index)
    bonus = 0.0
    if question.answer_type is not None and has_answer_of_type(text, question.answer_type):
        is_entry = (
            structure.parts[index].kind in (UnitKind.ROW, UnitKind.ITEM) and count_words(text) <= _MAX_ENTRY_WORDS
        )
        expected_bonus = _NUMBER_BONUS if question.answer_type in _NUMBER_TYPES else _EXPECTED_BONUS
        bonus += expected_bonus + (_ENTRY_BONUS if is_entry else 0.0)
    if counts_together(text, question.counted, structure.passage.lang):
        bonus += _COUNT_BONUS
    if question.asks_for_amount and has_amount(text):
        bonus += _AMOUNT_BONUS
    if not question.accepts(text):
        bonus -= _YES_OR_NO_PENALTY
    if mostly_points(text):
        bonus -= _POINTER_PENALTY
    if not question.asks_about_mail and structure.is_mail_header(index):
        bonus -= _MAIL_HEADER_PENALTY
    if structure.is_in_quoted_mail(index):
        bonus -= _QUOTED_MAIL_PENALTY
    if structure.parts[index].kind is UnitKind.SENTENCE:
        bonus -= _incompleteness_penalty(text)
    if groups and group is groups[0] and structure.section_of(index) > 0 and structure.term_above(group[0]) is None:
        bonus += _START_BONUS
    if question.is_procedure and any(structure.is_step_or_code(part) for part in group):
        bonus += _PROCEDURE_BONUS
    return bonus


def _incompleteness_penalty(sentence: str) -> float:
    words = count_words(sentence)
    if not sentence.endswith(SENTENCE_ENDINGS):
        return _LINE_PENALTY if words <= _MAX_LINE_WORDS else _FRAGMENT_PENALTY
    return _SHORT_PENALTY if words < _MIN_WORDS else 0.0


def _standardize(values: Sequence[float], weight: float) -> list[float]:
    """Return standard scores times a weight; zeros if all values are equal."""
    count = len(values) or 1
    mean = math.fsum(values) / count
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / count)  # statistics.pstdev is slow
    return [weight * (value - mean) / deviation if deviation > 1e-9 else 0.0 for value in values]
