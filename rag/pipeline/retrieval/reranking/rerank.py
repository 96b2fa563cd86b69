"""Step: passages -> the same in the order of a reranker."""

from collections.abc import Sequence

import structlog

from rag.errors import RerankFailed
from rag.providers import provider_factory
from rag.providers.base import Vectors
from rag.providers.rerankers.local import LocalReranker
from rag.types import Passage, Question

from .other_languages import place_other_languages
from .read_together import read_together
from .title_and_heading_similarity import prefer_similar_headings

logger = structlog.get_logger(__name__)

# How many of the best candidates are reranked.
MAX_RERANKED = 50
WARNING = "RERANK_FAILED"


def rerank(
    question: Question, passages: Sequence[Passage], multilingual_vector: Vectors | None = None
) -> tuple[list[Passage], tuple[str, ...]]:
    """Sort the first 50 passages by the reranker's relevance; the others stay after them.

    If the default reranker fails, the order stays as it is and there is a warning.

    Args:
        question: The question. Its `rerank_model` names the reranker; empty for the default one.
        passages: The passages, best first, with the scores of late interaction.
        multilingual_vector: The question's vector by the multilingual model, if it is not English.

    Returns:
        The passages by descending relevance, and warnings.

    Raises:
        RerankFailed: If the reranker that the question names failed.
    """
    candidates, others = passages[:MAX_RERANKED], passages[MAX_RERANKED:]
    reranker = provider_factory.reranker(question.rerank_model)
    try:
        relevances = reranker.rank(question.text, candidates)
    except RerankFailed as error:
        if question.rerank_model:
            raise
        logger.warning("rerank_skipped", reason=error.message)
        return [*candidates, *others], (WARNING,)
    scored = [passage.copy_with(relevance=relevance) for passage, relevance in zip(candidates, relevances, strict=True)]
    if isinstance(reranker, LocalReranker):  # others compare passages in all languages
        scored = place_other_languages(scored)
    # The sort is stable: equally relevant passages keep their order.
    ranked = sorted(scored, key=lambda passage: -passage.relevance)
    if isinstance(reranker, LocalReranker):  # others read the headings with the text
        ranked = prefer_similar_headings(question.text, ranked, multilingual_vector)
        ranked = read_together(question.text, ranked)
    return [*ranked, *_scale_below(ranked, others)], ()


def _scale_below(ranked: Sequence[Passage], others: Sequence[Passage]) -> list[Passage]:
    """Scale the relevances of the other passages so that they are not above the lowest of the ranked ones."""
    if not others:
        return []
    lowest = ranked[-1].relevance
    factor = min(1.0, lowest / max(others[0].relevance, 1e-9))
    # The product may be rounded to more than the lowest.
    return [passage.copy_with(relevance=min(lowest, factor * passage.relevance)) for passage in others]
