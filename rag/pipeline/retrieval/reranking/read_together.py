"""Step: reranked passages in several languages, or of a question that is not English -> the best ones in a new order.

A vector says what a passage is about, and those of two languages are only roughly alike. A model that reads the
question together with the passage finds whether it has the answer (docs/decisions/0089-multilingual-check.md). English
questions and passages have late interaction instead.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import structlog

from rag.errors import ProviderFailed
from rag.providers import provider_factory
from rag.providers.entailment.multilingual.check import MultilingualCheck
from rag.text.languages import snowball_algorithm
from rag.text.question_language import is_english, is_foreign, name_language
from rag.types import Passage

from .title_and_heading_similarity import logit, sigmoid

logger = structlog.get_logger(__name__)

# How many of the best passages are read: each takes 10 ms of CPU time. Of more ones only the words are compared, which
# takes one.
_MAX_READ, _MAX_COMPARED = 8, 50
# The weight of the model's logit beside that of the relevance, and of the similarity of words if both are standardized.
_WEIGHT, _WORDS_WEIGHT = 1.5, 0.75


def read_together(question: str, passages: Sequence[Passage]) -> list[Passage]:
    """Compare words of the question with those of passages in other languages, and read the best eight passages.

    Args:
        question: The question.
        passages: The passages, best first. If question and the best ones are English, they are returned as they are.

    Returns:
        The passages by descending relevance. Those that were read have their `answer_logit`.
    """
    model = provider_factory.multilingual_check()
    if model is None or len(passages) < 2 or not _are_between_languages(question, passages[:_MAX_READ]):
        return list(passages)
    try:
        return _read(question, _compare_words(question, passages, model), model)
    except ProviderFailed as error:
        logger.warning("reading_skipped", reason=error.message)
        return list(passages)


def _compare_words(question: str, passages: Sequence[Passage], model: MultilingualCheck) -> list[Passage]:
    """Add the similarity of words, standardized, to the relevances of passages in other languages than the question's.

    Passages in its own language were found by their words, and have the nearest ones.
    """
    compared = passages[:_MAX_COMPARED]
    relevances = np.array([logit(passage.relevance) for passage in compared])
    others = [position for position, passage in enumerate(compared) if not _is_in_language_of(question, passage)]
    if len(others) > 1:
        similarities = np.array(model.compare(question, [compared[position].text_with_headings for position in others]))
        standardized = (similarities - similarities.mean()) / max(similarities.std(), 1e-6)
        relevances[others] += _WORDS_WEIGHT * relevances.std() * standardized
    return _sort_again(passages, [float(value) for value in relevances], {})


def _is_in_language_of(question: str, passage: Passage) -> bool:
    if is_english(question):
        return not is_foreign(passage.lang)
    return snowball_algorithm(passage.lang) == name_language(question) != ""


def _read(question: str, passages: Sequence[Passage], model: MultilingualCheck) -> list[Passage]:
    """Add the model's logits to the relevances of the best eight passages, and sort these again."""
    best = passages[:_MAX_READ]
    logits = model.logits(question, [_with_heading(passage) for passage in best])
    relevances = [
        logit(passage.relevance) + _WEIGHT * (value - max(logits)) for passage, value in zip(best, logits, strict=True)
    ]
    return _sort_again(passages, relevances, dict(enumerate(logits)))


def _sort_again(passages: Sequence[Passage], logits: Sequence[float], read: Mapping[int, float]) -> list[Passage]:
    """Return the first passages by descending relevance, and the others below them.

    Args:
        passages: The passages, best first.
        logits: The logits of the new relevances of the first ones.
        read: The logits of the model by the positions of passages that it has read.
    """
    changed = [
        passage.copy_with(relevance=sigmoid(value), answer_logit=read.get(position, passage.answer_logit))
        for position, (passage, value) in enumerate(zip(passages, logits, strict=False))
    ]
    ranked = sorted(changed, key=lambda passage: -passage.relevance)
    lowest = ranked[-1].relevance
    return [*ranked, *(rest.copy_with(relevance=min(rest.relevance, lowest)) for rest in passages[len(logits) :])]


def _are_between_languages(question: str, passages: Sequence[Passage]) -> bool:
    return not is_english(question) or any(is_foreign(passage.lang) for passage in passages)


def _with_heading(passage: Passage) -> tuple[str, str]:
    """Return the nearest heading, which says what a passage is about, and the passage's text."""
    return passage.headings[-1] if passage.headings else passage.title, passage.text
