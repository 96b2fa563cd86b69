"""Step: question and passages -> the similarity of each part of the passages, from stored token signatures."""

import functools
import uuid
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import structlog
from django.conf import settings
from numpy.typing import NDArray

from rag.errors import IndexUnavailable
from rag.pipeline.answering.extractive.parts.needed_parts import PassageStructure
from rag.pipeline.embed_question import embed_question_tokens
from rag.pipeline.retrieval.reranking.answer_projection import ProjectedQuestion, project_question
from rag.pipeline.retrieval.reranking.late_interaction import read_signatures, token_similarities
from rag.providers import provider_factory
from rag.text.indexed_text import embedded_text
from rag.types import Passage
from rag.types.token_vectors import Similarities, TokenSignatures, TokenVectors

from .answer_candidates import QuoteCandidate

logger = structlog.get_logger(__name__)

# How many passages are quoted from, the best ones.
MAX_PASSAGES = 5


@dataclass(frozen=True, slots=True)
class _ChunkTokens:
    """The tokens of a chunk.

    Attributes:
        starts: The character offset of each token in the document, ascending.
        ends: The character offset of each token's end in the document, ascending.
        answering: The similarities of the tokens to those of the projected question, float32 of shape (tokens of the
            chunk, tokens of the question).
        similarities: The similarities of the tokens to those of the question itself, of the same shape.
        best: The best similarity of each token to a token of the question, float32 of shape (tokens of the chunk,).
        above: The best similarity to a token of the title and headings above the chunk, for each token of the
            projected question; None if nothing is above it.
    """

    document_id: uuid.UUID
    starts: list[int]
    ends: list[int]
    answering: TokenVectors
    similarities: TokenVectors
    best: TokenVectors
    above: TokenVectors | None = None


class SentenceSimilarity:
    """The similarity of parts of documents to one question (MaxSim: Khattab & Zaharia 2020).

    Attributes:
        token_weights: How much each value of `token_scores` counts, with the sum 1; None if they count the same.
        words_weight: How much the standard score of the question's words counts beside that of this similarity: little
            where each token is compared.
    """

    words_weight = 0.5

    def __init__(self, chunks: Sequence[_ChunkTokens] = (), token_weights: Similarities | None = None) -> None:
        self.token_weights = token_weights
        self._chunks = chunks

    def token_scores(self, document_id: uuid.UUID, start: int, end: int) -> TokenVectors | None:
        """Compare each token of the projected question with the characters start to end of a document.

        Returns:
            The best similarity of each of the question's tokens to a token in that range, float32 of shape (tokens of
            the question,); None if no token signatures are stored for the range.
        """
        ranges = self._ranges(document_id, start, end)
        return highest([np.maximum.reduce(chunk.answering[first:last]) for chunk, first, last in ranges])

    def heading_scores(self, document_id: uuid.UUID, start: int, end: int) -> TokenVectors | None:
        """Compare each token of the projected question with the title and headings above a range."""
        return highest(
            [chunk.above for chunk, _, _ in self._ranges(document_id, start, end) if chunk.above is not None]
        )

    def _ranges(self, document_id: uuid.UUID, start: int, end: int) -> Iterator[tuple[_ChunkTokens, int, int]]:
        """Yield the chunks that have tokens in a range, each with its first token there and the end of these tokens."""
        for chunk in self._chunks:
            if chunk.document_id == document_id:
                first, last = bisect_left(chunk.starts, start), bisect_right(chunk.ends, end)
                if first < last:
                    yield chunk, first, last

    def score_both_ways(self, document_id: uuid.UUID, start: int, end: int) -> float | None:
        """Return the similarity of the question and these characters of a document, about -1…1.

        It is lower for a part that says more, or less, than the question.

        Returns:
            The mean of two MaxSims: of the question's tokens to those of the range, and the other way round; None if
            no token signatures are stored for the range.
        """
        both = [
            float(_mean(np.maximum.reduce(chunk.similarities[first:last])) + _mean(chunk.best[first:last])) / 2
            for chunk, first, last in self._ranges(document_id, start, end)
        ]
        return max(both, default=None)

    def add_reading(
        self, scores: Sequence[float], candidates: Sequence[QuoteCandidate], structures: Sequence[PassageStructure]
    ) -> list[float]:
        """Return the scores of parts; in other languages with what a model finds that reads the best ones."""
        return list(scores)


def compare_token_signatures(query: str, passages: Sequence[Passage], chunks: Sequence[Passage]) -> SentenceSimilarity:
    """Compare the question with the stored token signatures of the best passages.

    The local model embeds only the question. Its tokenizer says which stored token belongs to which characters.

    Args:
        query: The question.
        passages: The passages, best first. Each is one chunk or several merged ones.
        chunks: The chunks that the passages consist of.

    Returns:
        The similarities. They have no scores if token signatures are switched off, missing or cannot be read. That is
        not an error: quotes are then chosen by words only.
    """
    used_chunks = [chunk for chunk in chunks if any(_contains(passage, chunk) for passage in passages[:MAX_PASSAGES])]
    if settings.RAG_TOKEN_SIGNATURES == "off" or not used_chunks:
        return SentenceSimilarity()
    try:
        signatures = read_signatures(used_chunks)
    except IndexUnavailable as error:
        logger.warning("sentence_similarity_failed", reason=type(error).__name__)
        return SentenceSimilarity()
    return compare_signatures(query, used_chunks, signatures)


def compare_signatures(
    query: str, chunks: Sequence[Passage], signatures: Mapping[uuid.UUID, TokenSignatures]
) -> SentenceSimilarity:
    """Compare the question with these token signatures of chunks, by the id of the chunk. Chunks may have none.

    Returns:
        The similarities. They have no scores if the local model cannot be loaded.
    """
    question_vectors = embed_question_tokens(query) if signatures else None
    if question_vectors is None:
        return SentenceSimilarity()
    projected = project_question(question_vectors)
    compared = [
        _compare_chunk(chunk, signatures[chunk.chunk_id], question_vectors, projected)
        for chunk in chunks
        if chunk.chunk_id in signatures
    ]
    return SentenceSimilarity([tokens for tokens in compared if tokens], projected.weights)


def _compare_chunk(
    chunk: Passage, signatures: TokenSignatures, question_vectors: TokenVectors, projected: ProjectedQuestion
) -> _ChunkTokens | None:
    """Compare the tokens of a chunk with those of the question; None if the signatures do not fit the chunk's text."""
    token_rows = _token_rows(chunk)
    # Another number of rows means another text: the title or the prefix has changed since it was embedded.
    if not len(token_rows) or len(signatures) != 1 + token_rows[:, 2].max():
        return None
    first = np.searchsorted(token_rows[:, 0], 0)  # what is before it belongs to the title and the headings
    above, (starts, ends, rows) = token_rows[:first, 2], token_rows[first:].T
    both = token_similarities(np.concatenate([question_vectors, projected.vectors]), signatures)
    similarities, answering = both[:, : len(question_vectors)], both[:, len(question_vectors) :]
    of_words = similarities[rows]
    return _ChunkTokens(
        chunk.document_id,
        starts=(chunk.start + starts).tolist(),
        ends=(chunk.start + ends).tolist(),
        answering=answering[rows],
        similarities=of_words,
        best=of_words.max(axis=1),
        above=answering[above].max(axis=0) if len(above) else None,
    )


def highest(vectors: Sequence[TokenVectors]) -> TokenVectors | None:
    """Return the highest value at each place of the vectors; None if there is no vector."""
    return functools.reduce(np.maximum, vectors) if vectors else None


def _contains(passage: Passage, chunk: Passage) -> bool:
    return chunk.document_id == passage.document_id and passage.start <= chunk.start and chunk.end <= passage.end


def _token_rows(chunk: Passage) -> NDArray[np.int64]:
    """Return (start, end, row of the stored signatures) for each token, of shape (tokens, 3).

    Offsets are relative to the chunk's text, in ascending order; those of the title and headings above it are negative.
    """
    text = embedded_text(chunk.text, chunk.headings, chunk.title)
    offset = len(text) - len(chunk.text)
    rows: NDArray[np.int64] = provider_factory.local_embedder().token_rows(text) - np.array([offset, offset, 0])
    return rows


def _mean(values: TokenVectors) -> np.float32:
    """Return the mean of at least one value, to the last digit as `values.mean()`, which takes twice as long."""
    return np.float32(np.add.reduce(values) / np.float64(len(values)))
