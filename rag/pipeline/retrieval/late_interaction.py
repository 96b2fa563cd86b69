"""Step: passages → the same, with how near their pieces come to each of the question's (late interaction)."""

import dataclasses
from collections.abc import Sequence

import structlog
from django.conf import settings
from django.db import DatabaseError

from rag.errors import EmbeddingFailed, IndexUnavailable
from rag.pipeline.embed import question_pieces
from rag.providers.stores.pgvector import token_signatures
from rag.types import Passage
from rag.types.token_vectors import nearest, telling

logger = structlog.get_logger(__name__)

# A question of as many characters as may be sent can have two thousand pieces; what it asks stands in fewer.
MOST_PIECES = 128


def compare(question: str, passages: Sequence[Passage]) -> list[Passage]:
    """Each with its `maxsim` and `telling`; without them where nothing is stored to compare with.

    Raises IndexUnavailable."""
    if settings.RAG_PIECE_BITS == "off":
        return list(passages)
    try:
        stored = token_signatures.read([passage.chunk_id for passage in passages])
    except DatabaseError as error:
        raise IndexUnavailable("The search index does not answer.") from error
    if not stored:
        return list(passages)
    try:
        pieces = question_pieces(question)[:MOST_PIECES]
    except EmbeddingFailed as error:  # of the local model, beside a remote one that found the passages
        logger.warning("passages_not_compared", reason=error.message)
        return list(passages)
    if not len(pieces):
        return list(passages)
    near = nearest(pieces, list(stored.values()))
    figures = dict(zip(stored, zip(near.mean(axis=1).tolist(), telling(near).tolist(), strict=True), strict=True))
    return [
        dataclasses.replace(passage, maxsim=figures[passage.chunk_id][0], telling=figures[passage.chunk_id][1])
        if passage.chunk_id in figures
        else passage
        for passage in passages
    ]
