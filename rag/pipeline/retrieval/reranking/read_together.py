"""Step: reranked passages in several languages, or of a question that is not English -> the best ones in a new order.

A vector says what a passage is about, and those of two languages are only roughly alike. A model that reads the
question together with the passage finds whether it has the answer (docs/decisions/0089-multilingual-check.md). English
questions and passages have late interaction instead.
"""

from collections.abc import Sequence

import structlog

from rag.errors import ProviderFailed
from rag.providers import provider_factory
from rag.text.question_language import is_english, is_foreign
from rag.types import Passage

from .title_and_heading_similarity import logit, sigmoid

logger = structlog.get_logger(__name__)

# How many of the best passages are read: each takes 10 ms of CPU time.
_MAX_READ = 8
# The weight of the model's logit beside that of the relevance.
_WEIGHT = 1.0


def read_together(question: str, passages: Sequence[Passage]) -> list[Passage]:
    """Add the model's logits to the relevance of the best eight passages, and sort these again.

    Args:
        question: The question.
        passages: The passages, best first. If question and the best ones are English, they are returned as they are.

    Returns:
        The passages by descending relevance. Those that were read have their `answer_logit`.
    """
    best, model = passages[:_MAX_READ], provider_factory.multilingual_check()
    if model is None or len(best) < 2 or not _are_between_languages(question, best):
        return list(passages)
    try:
        logits = model.logits(question, [_with_heading(passage) for passage in best])
    except ProviderFailed as error:
        logger.warning("reading_skipped", reason=error.message)
        return list(passages)
    highest = max(logits)
    read = [
        passage.copy_with(relevance=sigmoid(logit(passage.relevance) + _WEIGHT * (value - highest)), answer_logit=value)
        for passage, value in zip(best, logits, strict=True)
    ]
    ranked = sorted(read, key=lambda passage: -passage.relevance)
    lowest = ranked[-1].relevance
    return [*ranked, *(rest.copy_with(relevance=min(rest.relevance, lowest)) for rest in passages[_MAX_READ:])]


def _are_between_languages(question: str, passages: Sequence[Passage]) -> bool:
    return not is_english(question) or any(is_foreign(passage.lang) for passage in passages)


def _with_heading(passage: Passage) -> tuple[str, str]:
    """Return the nearest heading, which says what a passage is about, and the passage's text."""
    return passage.headings[-1] if passage.headings else passage.title, passage.text
