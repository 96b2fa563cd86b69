"""Step: how near each part of the passages comes to the question, by the pieces that are stored of their chunks."""

import uuid
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import structlog
from django.conf import settings
from django.db import DatabaseError

from rag.errors import EmbeddingFailed
from rag.pipeline.embed import question_token_vectors
from rag.pipeline.retrieval.late_interaction import MAX_QUERY_TOKENS, token_similarities
from rag.providers import registry
from rag.providers.stores.pgvector import token_signatures
from rag.text.embedded_text import embedded_text
from rag.types import Passage
from rag.types.token_vectors import TokenVectors

logger = structlog.get_logger(__name__)

# Of as many passages, the best, are sentences quoted.
MAX_PASSAGES = 5


@dataclass(frozen=True, slots=True)
class _Read:
    """A chunk's words, piece by piece. starts, ends: in its document's text, ascending. near: (pieces, the question's
    pieces)."""

    document_id: uuid.UUID
    starts: list[int]
    ends: list[int]
    near: TokenVectors


class SentenceSimilarity:
    """Of parts of documents to one question; knows nothing unless it is given chunks."""

    def __init__(self, read: Sequence[_Read] = ()) -> None:
        self._read = read

    def of(self, document_id: uuid.UUID, start: int, end: int) -> float | None:
        """The mean over the question's pieces of how near the document's characters start … end come to each, about
        -1…1; None if nothing is stored of them."""
        found = []
        for each in self._read:
            if each.document_id == document_id:
                first, last = bisect_left(each.starts, start), bisect_right(each.ends, end)
                if first < last:
                    found.append(each.near[first:last].max(axis=0))
        return float(np.max(found, axis=0).mean()) if found else None


def sentence_similarity(query: str, passages: Sequence[Passage], chunks: Sequence[Passage]) -> SentenceSimilarity:
    """Of whatever lies in the best passages, each of which is one of the chunks or several joined.

    The chunks' pieces were made when they were ingested, so no model runs: a text's tokens say which piece is whose.
    Knows nothing where pieces are not kept or cannot be read: the question is answered all the same.
    """
    inside = [chunk for chunk in chunks if any(_is_in(chunk, passage) for passage in passages[:MAX_PASSAGES])]
    if settings.RAG_TOKEN_SIGNATURES == "off" or not inside:
        return SentenceSimilarity()
    try:
        stored = token_signatures.read([chunk.chunk_id for chunk in inside])
        if not stored:
            return SentenceSimilarity()
        asked = question_token_vectors(query)[:MAX_QUERY_TOKENS]
    except (DatabaseError, EmbeddingFailed) as error:
        logger.warning("quotes_by_words_alone", reason=type(error).__name__)
        return SentenceSimilarity()
    if not len(asked):
        return SentenceSimilarity()
    found = []
    for chunk in inside:
        pieces = stored.get(chunk.chunk_id)
        places = _places(chunk)
        # Otherwise they are not of this text: of one under another title, or under a prefix.
        if pieces is not None and places and len(pieces) == 1 + max(row for _, _, row in places):
            near = token_similarities(asked, pieces)[[row for *_, row in places]]
            starts, ends = ([chunk.start + place[which] for place in places] for which in (0, 1))
            found.append(_Read(chunk.document_id, starts, ends, near))
    return SentenceSimilarity(found)


def _is_in(chunk: Passage, passage: Passage) -> bool:
    return chunk.document_id == passage.document_id and passage.start <= chunk.start and chunk.end <= passage.end


def _places(chunk: Passage) -> list[tuple[int, int, int]]:
    """(start, end, row among the chunk's stored pieces) in the chunk's own text; what is above it lies below 0."""
    text = embedded_text(chunk.text, chunk.headings, chunk.title)
    above = len(text) - len(chunk.text)
    return [(start - above, end - above, row) for start, end, row in registry.local_embedder().token_rows(text)]
