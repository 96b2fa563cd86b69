"""Grounding of questions that are not English about passages in the same language."""

import uuid
from collections.abc import Sequence

from rag.text.question_language import is_english
from rag.types import Passage

from .calibration_curve import Curve
from .cross_language_grounding import compared_by_second_model, find_other_languages

# How far a passage's cosine by the multilingual model exceeds that of the other candidates counts three times as much
# as with the English model. Fitted to 132 questions in German, Spanish and French, most of them asked with the
# documents that answer them and without them, and to 72 that no document answers (docs/decisions/0046-languages.md).
_CURVE = Curve(3.46, -3.74)
# From the logit of the model that reads question and passage, and the evidence of the other curve with this weight.
# Fitted to 339 questions: 100 of XQuAD in four languages, with the passage and without it, and 239 about
# organisations. Both sources count alike, and the offset is a little higher for questions in other words than the
# documents (docs/decisions/0089-multilingual-check.md).
_CURVE_OF_READ, _EVIDENCE_WEIGHT = Curve(0.614, -1.25), 1.6
_RELATIVE_SIMILARITY_WEIGHT = 3.0
# Of a passage whose headings were not compared with the question.
_MEAN_HEADING_SIMILARITY = 0.2


def probability_within_language(
    passage: Passage, coverage: float, relative_similarity: float, answer_logit: float | None
) -> float:
    """Return the probability that a passage in the language of the question contains the answer.

    Names are not counted on their own, because German writes all nouns like names.

    Args:
        passage: The passage.
        coverage: The share of the question's terms that it contains.
        relative_similarity: How far its similarity exceeds that of the other candidates.
        answer_logit: How surely it contains the answer, by a model that reads both; None if no passage was read.
    """
    heading = passage.heading_similarity
    similarity = _MEAN_HEADING_SIMILARITY if heading is None else heading
    evidence = coverage + _RELATIVE_SIMILARITY_WEIGHT * relative_similarity + similarity
    return _CURVE(evidence) if answer_logit is None else _CURVE_OF_READ(answer_logit + _EVIDENCE_WEIGHT * evidence)


def find_same_language(query: str, passages: Sequence[Passage]) -> frozenset[uuid.UUID]:
    """Return the ids of the chunks that the multilingual model has compared with a question in their language.

    None are returned for a question in English.
    """
    if is_english(query):
        return frozenset()
    others = find_other_languages(query, passages)
    same = [passage for passage in passages if passage.chunk_id not in others and passage.maxsim is None]
    compared = compared_by_second_model(same)
    return frozenset(passage.chunk_id for passage in same if passage.source_id in compared)
