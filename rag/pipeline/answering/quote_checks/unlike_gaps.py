"""Words of a question that nothing in the passages is like: "forklift", where these are about other machines."""

import re
from collections.abc import Sequence

import structlog
from django.conf import settings

from rag.errors import IndexUnavailable
from rag.pipeline.embed_question import embed_question_tokens
from rag.pipeline.retrieval.query.split_clauses import asking_clauses
from rag.pipeline.retrieval.reranking.late_interaction import max_similarities, read_signatures
from rag.providers import provider_factory
from rag.text.question_language import is_english
from rag.types import Passage

logger = structlog.get_logger(__name__)

# Below this similarity to all that was found, a word is about something else (docs/decisions/0084-required-facts.md).
_MIN_SIMILARITY = 0.25
_WORD = re.compile(r"\w+")


def find_unlike_gaps(query: str, gaps: Sequence[str], passages: Sequence[Passage]) -> tuple[str, ...]:
    """Return the gaps of a question that ask about something which no passage has anything similar to.

    A clause that only tells what happened may well have such words. If another clause asks about something that was
    found, its answer stands. Names are not compared, and only English words: the token vectors are those of an English
    model.

    Args:
        query: The question.
        gaps: The phrases of the question that no passage mentions.
        passages: The passages that were found.
    """
    clauses = asking_clauses(query)
    sought = [gap for gap in gaps if any(gap in clause for clause in clauses)]
    if not sought or settings.RAG_TOKEN_SIGNATURES == "off" or not is_english(query):
        return ()
    similarities = _similarities_of_words(query, passages)

    def is_unlike(gap: str) -> bool:
        words = filter(str.islower, _WORD.findall(gap))
        return any(similarities.get(word, 1.0) < _MIN_SIMILARITY for word in words)

    unlike = tuple(filter(is_unlike, sought))
    return unlike if all(any(gap in clause for gap in unlike) for clause in clauses) else ()


def _similarities_of_words(query: str, passages: Sequence[Passage]) -> dict[str, float]:
    """Return the best similarity of each word of a question to a token of the passages; nothing if it is unknown."""
    try:
        signatures = read_signatures(passages)
    except IndexUnavailable as error:
        logger.warning("unlike_gaps_skipped", reason=type(error).__name__)
        return {}
    vectors = embed_question_tokens(query) if signatures else None
    if vectors is None:
        return {}
    best = max_similarities(vectors, list(signatures.values())).max(axis=0)
    tokens = list(zip(best.tolist(), provider_factory.local_embedder().token_offsets(query), strict=False))
    similarities: dict[str, float] = {}
    for word in _WORD.finditer(query):
        values = [value for value, (start, end) in tokens if word.start() <= start and end <= word.end()]
        if values:
            similarities.setdefault(word.group(), sum(values) / len(values))
    return similarities
