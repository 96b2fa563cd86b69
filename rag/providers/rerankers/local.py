"""The built-in reranker: the cosine mixed with the words that question and passage share. No model, no network."""

from collections.abc import Sequence

from rag.lexical import bm25
from rag.types import Passage

# What each half counts for. Min-max mixing of dense and lexical scores (docs/architecture.md, "Ranking").
_DENSE, _LEXICAL = 0.5, 0.5


class LocalReranker:
    name = "local"

    def rank(self, query: str, passages: Sequence[Passage]) -> list[float]:
        words = bm25(query, [each.searched_text for each in passages], [each.lang for each in passages])
        if not any(words):  # no word in common with anything: the cosine stands
            return [passage.score for passage in passages]
        dense = _spread([passage.score for passage in passages])
        lexical = _spread(words)
        return [_DENSE * one + _LEXICAL * other for one, other in zip(dense, lexical, strict=True)]


def _spread(values: Sequence[float]) -> list[float]:
    """Moved and scaled so that the lowest is 0 and the highest 1."""
    lowest, highest = min(values, default=0.0), max(values, default=0.0)
    width = highest - lowest
    return [(value - lowest) / width if width else 1.0 for value in values]
