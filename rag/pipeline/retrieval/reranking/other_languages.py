"""Step: passages in other languages that an English question found -> their places among the English passages.

They share no words with the question, and cosines of two models are not comparable. So the multilingual model, which
found them, compares the English passages as well (docs/decisions/0046-languages.md).
"""

import uuid
from collections.abc import Sequence

from django.conf import settings

from rag.pipeline.retrieval.query.embed_in_scopes import EmbeddedQuestion
from rag.providers import provider_factory
from rag.providers.rerankers.local import standard_scores
from rag.text.question_language import is_english, is_foreign
from rag.types import Hit, Passage, Question

from .title_and_heading_similarity import logit, sigmoid

# How many of the nearest chunks in other languages are always among those that are reranked.
_MAX_ADMITTED = 10
# An English passage with this share of the question's words, or this weighted MaxSim, probably has the answer.
_SUFFICIENT_COVERAGE, _SUFFICIENT_MAXSIM = 0.75, 0.45
# The weight of the standard score in place of the relevance and of MaxSim, which is missing.
_WEIGHT = 1.75


def find_multilingual(question: Question, embedded: Sequence[EmbeddedQuestion]) -> int | None:
    """Return the index of the scope in which an English question is compared by the multilingual model, if any.

    If there are two, that of sources whose own model it is comes first, and has passages in all languages. The last one
    has those in other languages.
    """
    if not (question.rerank and is_english(question.text)):
        return None
    for index, of_scope in reversed(list(enumerate(embedded))):
        if of_scope.model_name == settings.RAG_MULTILINGUAL_MODEL and of_scope.vector is not None:
            return index
    return None


def admit_nearest(hits: Sequence[Hit], nearest_ids: Sequence[uuid.UUID], limit: int) -> list[Hit]:
    """Move the nearest ten chunks in other languages to the end of the first `limit` hits, if they come later.

    Args:
        hits: The hits, best first.
        nearest_ids: The chunks in other languages, nearest first.
        limit: How many hits are reranked.
    """
    admitted = set(nearest_ids[:_MAX_ADMITTED])
    late = [hit for hit in hits[limit:] if hit.chunk_id in admitted]
    if not late:
        return list(hits)
    others = [hit for hit in hits if hit not in late]
    start = limit - len(late)
    return [*others[:start], *late, *others[start:]]


def add_multilingual_cosines(passages: Sequence[Passage], of_scope: EmbeddedQuestion) -> list[Passage]:
    """Compare all passages with the question by the multilingual model, if any is in another language.

    Args:
        passages: The passages.
        of_scope: The question, embedded by the multilingual model.

    Raises:
        IndexUnavailable: If the store does not answer.
    """
    if of_scope.vector is None or not any(is_foreign(passage.lang) for passage in passages):
        return list(passages)
    ids = [passage.chunk_id for passage in passages]
    cosines = provider_factory.chunk_store().cosines(ids, of_scope.vector, model_id=of_scope.scope.model_id)
    return [passage.copy_with(multilingual_cosine=cosines.get(passage.chunk_id)) for passage in passages]


def place_other_languages(passages: Sequence[Passage]) -> list[Passage]:
    """Set the relevance of passages in other languages by their cosine of the multilingual model.

    One that is more similar to the question than all English passages comes before them, unless the best of these
    probably has the answer. Any other comes after the English passage that is the most similar.

    Args:
        passages: Reranked passages. They are returned as they are if not both kinds were compared.
    """
    compared = [passage for passage in passages if passage.multilingual_cosine is not None]
    english = [passage for passage in compared if not is_foreign(passage.lang)]
    if not english or len(english) == len(compared):
        return list(passages)
    scores = standard_scores([passage.cross_language_cosine for passage in compared]).tolist()
    score_by_chunk = dict(zip((passage.chunk_id for passage in compared), scores, strict=True))
    nearest = max(english, key=lambda passage: passage.cross_language_cosine)
    best = max(english, key=lambda passage: passage.relevance)
    is_sufficient = best.coverage >= _SUFFICIENT_COVERAGE or (best.weighted_maxsim or 0.0) >= _SUFFICIENT_MAXSIM

    def relevance(passage: Passage) -> float:
        score = score_by_chunk[passage.chunk_id]
        before, margin = logit(passage.relevance), score - score_by_chunk[nearest.chunk_id]
        if margin > 0 and not is_sufficient:
            return sigmoid(max(before, logit(best.relevance) + margin))
        return sigmoid(min(max(before, _WEIGHT * score), logit(nearest.relevance)))

    return [
        passage.copy_with(relevance=relevance(passage))
        if passage.chunk_id in score_by_chunk and is_foreign(passage.lang)
        else passage
        for passage in passages
    ]
