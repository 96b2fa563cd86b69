"""Step: passages → the same in the order of more than their cosine."""

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
    """The passages by descending relevance, and warnings.

    The default reranker's failure is a warning and leaves the order as it was. Raises RerankFailed for the failure of
    one that the question names.
    """
    try:
        relevances = registry.reranker(question.rerank_model).rank(question.text, passages)
    except RerankFailed as error:
        if question.rerank_model:
            raise
        logger.warning("rerank_left_out", reason=error.message)
        return list(passages), (WARNING,)
    scored = [
        dataclasses.replace(passage, relevance=relevance)
        for passage, relevance in zip(passages, relevances, strict=True)
    ]
    return sorted(scored, key=lambda passage: (-passage.relevance, passage.rank)), ()
