"""Step: candidates of the dense and the lexical search -> one ranking."""

import uuid
from collections.abc import Sequence
from itertools import chain

from rag.providers.stores.search_types import Candidate, Candidates
from rag.types import Hit, Mode

# The weights of both scores in a hybrid search (docs/decisions/0024-hybrid-fusion.md).
_DENSE_WEIGHT = 0.5
_LEXICAL_WEIGHT = 0.5
# A text contains words of a question in another language only by chance, but the best of such matches would get the
# full lexical score. So the score of a chunk is scaled by its coverage of the question's words, and is full from this
# coverage on, because names are the same in all languages.
_FULL_COVERAGE_BETWEEN_LANGUAGES = 0.5
# Words count fully if one of the candidates has this share of the question's words, or of three words: questions of
# many words never have all in one text. Otherwise the texts may say it in other words, and those that have a word by
# chance should not come first.
_FULL_COVERAGE_OF_BEST = 0.5
_FULL_WORDS = 3
# A cosine that is good with any model. If there are several scopes, each is scaled as if one of its chunks had this
# cosine, so that a scope without a similar chunk does not rank as high as the others.
_GOOD_COSINE = 0.5


def fuse(
    mode: Mode, candidates_by_scope: Sequence[Candidates], *, is_english: bool = True, word_count: int = 1
) -> list[Hit]:
    """Rank the candidates of all scopes by the scores that the retrieval mode uses.

    Args:
        mode: The retrieval mode.
        candidates_by_scope: The candidates of each scope.
        is_english: Whether the question is English. For other questions, the lexical score of a hybrid search is scaled
            by the chunk's coverage of the question's words.
        word_count: How many words the question has, without function words.

    Returns:
        The hits, best first; equally relevant ones in the order of their ids. `relevance` is the cosine in dense mode,
        the BM25 score divided by the highest in lexical mode, and otherwise the weighted sum of both, each scaled to
        0...1.
    """
    chunks = list(chain.from_iterable(candidates.chunks for candidates in candidates_by_scope))
    relevances = _relevances(mode, chunks, candidates_by_scope, _word_weights(chunks, word_count, is_english))
    hits = [
        Hit(chunk.chunk_id, chunk.cosine, relevance, chunk.coverage, chunk.token_similarities)
        for chunk, relevance in zip(chunks, relevances, strict=True)
    ]
    ranked = sorted(hits, key=lambda hit: (-(hit.relevance or 0.0), hit.chunk_id))
    # A chunk may be in two scopes, each with another embedding model. Its better hit counts.
    best: dict[uuid.UUID, Hit] = {}
    for hit in ranked:
        best.setdefault(hit.chunk_id, hit)
    return list(best.values())


def _relevances(
    mode: Mode, chunks: Sequence[Candidate], candidates_by_scope: Sequence[Candidates], word_weights: Sequence[float]
) -> list[float]:
    """Return the relevance of each chunk, in the order of the chunks (see `fuse`)."""
    lexical_scores = [chunk.lexical_score for chunk in chunks]
    if mode == Mode.DENSE:
        return [chunk.cosine for chunk in chunks]
    if mode == Mode.LEXICAL:
        highest = max(lexical_scores, default=0.0) or 1.0
        return [score / highest for score in lexical_scores]
    # Cosines of two models are not comparable, so each scope is scaled on its own; BM25 scores are.
    has_several = sum(bool(candidates.chunks) for candidates in candidates_by_scope) > 1
    reference = (0.0, _GOOD_COSINE) if has_several else ()
    cosines: list[float] = []
    for candidates in candidates_by_scope:
        scope_cosines = [chunk.cosine for chunk in candidates.chunks]
        cosines += scale([*scope_cosines, *reference])[: len(scope_cosines)]
    return [
        _DENSE_WEIGHT * cosine + _LEXICAL_WEIGHT * weight * score
        for cosine, score, weight in zip(cosines, scale(lexical_scores), word_weights, strict=True)
    ]


def _word_weights(chunks: Sequence[Candidate], word_count: int, is_english: bool) -> list[float]:
    """Return how much the lexical score of each chunk counts, 0…1."""
    if not is_english:
        return [min(1.0, chunk.coverage / _FULL_COVERAGE_BETWEEN_LANGUAGES) for chunk in chunks]
    best_coverage = max((chunk.coverage for chunk in chunks), default=0.0)
    covered_share = best_coverage * max(1.0, word_count / _FULL_WORDS)
    return [min(1.0, covered_share / _FULL_COVERAGE_OF_BEST) ** 2] * len(chunks)


def scale(values: Sequence[float]) -> list[float]:
    """Scale the values so that the lowest becomes 0 and the highest 1. Equal values become 1, or 0 if not positive."""
    lowest, highest = min(values, default=0.0), max(values, default=0.0)
    width = highest - lowest
    return [(value - lowest) / width if width else float(value > 0) for value in values]
