"""Step: passages → the best of them in the order of more than retrieval knew."""

import dataclasses
from collections.abc import Sequence

import structlog

from rag.errors import RerankFailed
from rag.providers import registry
from rag.types import Passage, Question

logger = structlog.get_logger(__name__)

# How many candidates are looked at again.
RERANKED = 50
WARNING = "RERANK_FAILED"


def rerank(question: Question, passages: Sequence[Passage]) -> tuple[list[Passage], tuple[str, ...]]:
    """The passages by descending relevance, and warnings. The first 50 are looked at again, as they were compared
    (pipeline/compare.py); others stay behind them.

    The default reranker's failure is a warning and leaves the order as it was. Raises RerankFailed for the failure of
    one that the question names.
    """
    looked_at, others = passages[:RERANKED], passages[RERANKED:]
    try:
        relevances = registry.reranker(question.rerank_model).rank(question.text, looked_at)
    except RerankFailed as error:
        if question.rerank_model:
            raise
        logger.warning("rerank_left_out", reason=error.message)
        return [*looked_at, *others], (WARNING,)
    scored = [
        dataclasses.replace(passage, relevance=relevance)
        for passage, relevance in zip(looked_at, relevances, strict=True)
    ]
    ranked = sorted(scored, key=lambda passage: -passage.relevance)  # equal ones as they were
    return [*ranked, *_behind(ranked, others)], ()


def _behind(ranked: Sequence[Passage], others: Sequence[Passage]) -> list[Passage]:
    """The others in the order that they have, with relevances below those of the ranked."""
    if not others:
        return []
    ceiling = ranked[-1].relevance / max(others[0].relevance, 1e-9)
    return [dataclasses.replace(passage, relevance=min(1.0, ceiling) * passage.relevance) for passage in others]
