"""Step: passages -> the same with their MaxSim scores (late interaction, ColBERT: Khattab & Zaharia 2020).

A question's token vectors are compared with the one-bit signatures that are stored of a passage's tokens, read as
vectors of length 1. Similarities are about -0.8...0.8.
"""

import uuid
from collections.abc import Mapping, Sequence

import numpy as np
from django.conf import settings

from rag.pipeline.embed_question import embed_question_tokens
from rag.providers import provider_factory
from rag.types import Passage
from rag.types.token_vectors import Similarities, TokenSignatures, TokenVectors

_BLOCK_TOKENS = 256


def read_signatures(passages: Sequence[Passage]) -> dict[uuid.UUID, TokenSignatures]:
    """Return the signatures of the passages that have any, by the id of the chunk. Known ones are not read again.

    Raises:
        IndexUnavailable: If the store does not answer.
    """
    known = {passage.chunk_id: passage.signatures for passage in passages if passage.signatures is not None}
    others = [passage.chunk_id for passage in passages if passage.chunk_id not in known]
    return known | (provider_factory.chunk_store().token_signatures(others) if others else {})


def add_maxsim(question: str, passages: Sequence[Passage], known: Mapping[uuid.UUID, Sequence[float]]) -> list[Passage]:
    """Score the passages by late interaction.

    Args:
        question: The question.
        passages: The passages.
        known: The similarities of each token of the question, by the id of the chunk, that the search has computed.

    Returns:
        The passages in the same order, with the signatures that were read. A passage without stored signatures has no
        scores. If the local model fails, no passage has scores.

    Raises:
        IndexUnavailable: If the store does not answer.
    """
    if settings.RAG_TOKEN_SIGNATURES == "off":
        return list(passages)
    rows: dict[uuid.UUID, Sequence[float] | Similarities] = {
        passage.chunk_id: known[passage.chunk_id] for passage in passages if passage.chunk_id in known
    }
    signatures: dict[uuid.UUID, TokenSignatures] = {}
    if others := [passage.chunk_id for passage in passages if passage.chunk_id not in rows]:
        signatures = provider_factory.chunk_store().token_signatures(others)
        rows |= _compare(question, signatures)
    if not rows:
        return list(passages)
    similarities = np.array(list(rows.values()), np.float32)
    scores = zip(similarities.mean(axis=1).tolist(), weighted_maxsim(similarities).tolist(), strict=True)
    scores_by_chunk = dict(zip(rows, scores, strict=True))
    return [
        _with_scores(passage, scores_by_chunk.get(passage.chunk_id), signatures.get(passage.chunk_id))
        for passage in passages
    ]


def _compare(question: str, signatures: Mapping[uuid.UUID, TokenSignatures]) -> dict[uuid.UUID, Similarities]:
    """Return chunk id → the similarities of the question's tokens to those of the chunk."""
    token_vectors = embed_question_tokens(question) if signatures else None
    if token_vectors is None:
        return {}
    return dict(zip(signatures, max_similarities(token_vectors, list(signatures.values())), strict=True))


def _with_scores(passage: Passage, scores: tuple[float, float] | None, signatures: TokenSignatures | None) -> Passage:
    if scores is None:
        return passage
    return passage.copy_with(maxsim=scores[0], weighted_maxsim=scores[1], signatures=signatures)


def max_similarities(question: TokenVectors, passages: Sequence[TokenSignatures]) -> Similarities:
    """Return the best similarity of each token of the question to any token of each passage.

    The tokens of all passages are compared together: 50 passages of 150 tokens take 2 ms of CPU time instead of
    390 ms one by one. Their bits are read as numbers block by block, which are then still in the processor's cache.

    Args:
        question: The question's token vectors, shape (question tokens, dimensions).
        passages: The signatures of each passage, shape (tokens, dimensions / 8); no passage is empty.

    Returns:
        The similarities, float32 of shape (passages, question tokens).
    """
    starts = np.cumsum([0, *(len(passage) for passage in passages[:-1])])
    signatures = np.concatenate(passages)
    products = np.empty((len(question), len(signatures)), np.float32)
    for start in range(0, len(signatures), _BLOCK_TOKENS):
        block = slice(start, start + _BLOCK_TOKENS)
        products[:, block] = _dot_products(question, signatures[block]).T
    # The highest product belongs to the highest similarity, so only this one is scaled. Along rows it is found faster.
    best = _scale(np.maximum.reduceat(products, starts, axis=1).T, question) / np.sqrt(question.shape[1])
    return np.ascontiguousarray(best, np.float32)


def token_similarities(question: TokenVectors, passage: TokenSignatures) -> Similarities:
    """Return the similarity of each token of a passage to each of the question: float32 (tokens, question tokens)."""
    length = np.float32(np.sqrt(question.shape[1]))
    similarities: Similarities = _scale(_dot_products(question, passage), question) / length
    return similarities


def weighted_maxsim(similarities: Similarities) -> Similarities:
    """Return MaxSim with each token of the question weighted by how much the passages differ in it.

    A token to which all passages are equally similar says nothing about any of them.

    Args:
        similarities: The result of `max_similarities`, shape (passages, question tokens).

    Returns:
        The scores, float32 of shape (passages,).
    """
    weights = similarities.std(axis=0) + np.float32(1e-3)
    # Not a matrix product: BLAS raises false "invalid value" warnings on arrays this small.
    scores: Similarities = (similarities * weights).sum(axis=1) / weights.sum()
    return scores


def _dot_products(question: TokenVectors, signatures: TokenSignatures) -> Similarities:
    """Return the dot products of the signatures' bits (0 or 1) with the vectors of the question."""
    bits = np.unpackbits(signatures, axis=1, count=question.shape[1]).astype(np.float32)
    products: Similarities = bits @ question.T
    return products


def _scale(products: Similarities, question: TokenVectors) -> Similarities:
    """Return similarities times the square root of the dimensions, the length of a vector of signs (-1 or 1)."""
    similarities: Similarities = 2 * products - question.sum(axis=1)
    return similarities
