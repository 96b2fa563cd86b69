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
_RELATIVE_SIMILARITY_WEIGHT = 3.0
# Of a passage whose headings were not compared with the question.
_MEAN_HEADING_SIMILARITY = 0.2


def probability_within_language(passage: Passage, coverage: float, relative_similarity: float) -> float:
    """Return the probability that a passage in the language of the question contains the answer.

    Names are not counted on their own, because German writes all nouns like names.

    Args:
        passage: The passage.
        coverage: The share of the question's terms that it contains.
        relative_similarity: How far its similarity exceeds that of the other candidates.
    """
    heading = passage.heading_similarity
    similarity = _MEAN_HEADING_SIMILARITY if heading is None else heading
    return _CURVE(coverage + _RELATIVE_SIMILARITY_WEIGHT * relative_similarity + similarity)


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
