"""Grounding of questions that are not English about passages in the same language."""

import uuid
from collections.abc import Sequence

from rag.text.question_language import is_english
from rag.types import Passage

from .between_languages import compared_by_second_model, find_other_languages
from .calibration_curve import Curve

# How far a passage's cosine by the multilingual model exceeds that of the other candidates counts three times as much
# as with the English model. Fitted to 92 questions in German, Spanish and French, each asked with the documents that
# answer it and without them, and to 92 others (docs/decisions/0046-languages.md).
WITHIN_LANGUAGE = Curve(3.7, -4.88)
STANDOUT_WEIGHT = 3.0


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
