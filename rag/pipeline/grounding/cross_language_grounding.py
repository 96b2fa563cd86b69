"""Grounding of questions about passages in another language, which share no words with them."""

import uuid
from collections.abc import Sequence

from django.conf import settings
from django.db.models import Q

from rag.models import DataSource
from rag.text.languages import detect_language
from rag.text.question_language import is_english, is_foreign
from rag.types import Passage
from ragsite.postgres import identity

from .calibration_curve import Curve

# From the cosine of the multilingual model. Fitted to 200 questions in five languages about English passages, each
# asked with its passage and without it (docs/decisions/0046-languages.md), and moved to the cosines that questions have
# since they are moved towards their answers (docs/decisions/0088-multilingual-questions.md).
_CURVE = Curve(22.8, -7.2)
# From the logit of the model that reads question and passage, and the cosine with this weight. Fitted to 480 questions:
# 200 of XQuAD in eight pairs of languages, with the passage and without it, and 280 about organisations. Both sources,
# and questions with an answer and without one, count alike (docs/decisions/0089-multilingual-check.md).
_CURVE_OF_READ, _COSINE_WEIGHT = Curve(0.853, -2.12), 7.16
# Of passages that were not read, because others are more relevant.
LOGIT_OF_UNREAD = -2.0


def probability_between_languages(passage: Passage, answer_logit: float | None) -> float:
    """Return the probability that a passage in a language other than the question's contains the answer.

    Args:
        passage: The passage.
        answer_logit: How surely it does, by a model that reads both; None if no passage was read.
    """
    if answer_logit is None:
        return _CURVE(passage.cross_language_cosine)
    return _CURVE_OF_READ(answer_logit + _COSINE_WEIGHT * passage.cross_language_cosine)


def is_in_other_language(query: str, passages: Sequence[Passage]) -> bool:
    """Return whether a passage is in a language other than the question's; False if its language is unclear."""
    return bool(_in_other_languages(query, passages))


def find_other_languages(query: str, passages: Sequence[Passage]) -> frozenset[uuid.UUID]:
    """Return the ids of the chunks in a language other than the question's that the multilingual model has compared.

    In doubt, a passage is in the language of the question.
    """
    others = _in_other_languages(query, passages)
    compared = compared_by_second_model(others)
    return frozenset(passage.chunk_id for passage in others if passage.source_id in compared)


def compared_by_second_model(passages: Sequence[Passage]) -> frozenset[uuid.UUID]:
    """Return the ids of the passages' sources whose chunks have vectors of the multilingual model."""
    if not passages:
        return frozenset()
    is_compared = Q(second_model_ready_at__isnull=False) | Q(embedding_model__name=settings.RAG_MULTILINGUAL_MODEL)
    source_ids = {passage.source_id for passage in passages}
    with identity.hint_sources(source_ids):
        return frozenset(DataSource.objects.filter(is_compared, pk__in=source_ids).values_list("pk", flat=True))


def _in_other_languages(query: str, passages: Sequence[Passage]) -> list[Passage]:
    is_english_question = is_english(query)
    code = "" if is_english_question else detect_language(query)

    def differs(lang: str) -> bool:
        if is_english_question:
            return is_foreign(lang)
        return lang == "en" or (bool(code and lang) and code != lang)

    return [passage for passage in passages if differs(passage.lang)]
